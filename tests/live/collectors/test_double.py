"""A program in float64: what it is given, and the dtypes that it names itself."""

from __future__ import annotations

import numpy
import torch

from collectors.call.variations import arrays, precision


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


def test_arrays_among_the_arguments_have_wider_ones_in_their_place() -> None:
    array, counts, kept = numpy.ones(3, "float32"), numpy.ones(3, "int32"), [torch.ones(2)]
    given = (([array, counts], kept), {"same": array, "rate": numpy.float32(0.1)})
    (both, other), named = arrays.replace_arrays(given, arrays.widen)
    assert isinstance(both, list) and other is kept
    assert both[0].dtype == "float64" and both[1] is counts and array.dtype == "float32"
    assert named["same"] is both[0]
    assert named["rate"].dtype == "float64"  # type: ignore[attr-defined]


def test_arrays_are_moved_in_their_own_memory() -> None:
    array, backwards = numpy.ones(4, "float32"), numpy.ones(4, "float32")[::-1]
    tensors = arrays.view_arrays(((array, backwards, numpy.float32(1)), {}))
    assert len(tensors) == 1
    precision.perturb(tensors, precision.make_alternating_signs(1))
    assert list(array > 1) == [True, False, True, False]
