"""A program in float64: what it is given, and the dtypes that it names itself."""

from __future__ import annotations

import torch

from collectors.call.variations import precision


def test_complex_numbers_become_complex128_and_views_stay_views() -> None:
    whole = torch.full((4,), 1 + 2j)
    part = whole[1:]
    precision.convert_to_double({"whole": whole, "part": part})
    assert whole.dtype == part.dtype == torch.complex128
    whole[1] = 5
    assert part[0] == 5


def test_what_the_program_names_is_as_wide() -> None:
    with precision.promote():
        made = torch.zeros(2, dtype=torch.complex64)
        cast = torch.zeros(2).to(torch.cfloat)
    assert made.dtype == cast.dtype == torch.complex128
    assert torch.get_default_dtype() == torch.float32
