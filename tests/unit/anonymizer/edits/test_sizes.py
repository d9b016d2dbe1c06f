"""Which sizes shrink together."""

from __future__ import annotations

import ast

from anonymizer.edits.sizes import shrink_dimensions
from anonymizer.source.program import SourceProgram


def test_a_width_shrinks_without_a_size_of_the_input_that_happens_to_be_the_same() -> None:
    definitions = ast.parse("def repro(x):\n    return x.repeat_interleave(4)")
    program = SourceProgram(definitions, "repro", ast.parse("return (torch.ones(2, 4, 6),)"))
    found = [
        made.write_definitions()[-2] + made.write_inputs()[-1]
        for made in shrink_dimensions(program)
    ]
    assert "2return (torch.ones(2, 2, 6),)" in found
    assert found[-1] == "2return (torch.ones(2, 4, 6),)"
    # 4 has shrunk already where the inputs do not have it
    program = SourceProgram(definitions, "repro", ast.parse("return (torch.ones(2, 3),)"))
    assert len(list(shrink_dimensions(program))) == 3
