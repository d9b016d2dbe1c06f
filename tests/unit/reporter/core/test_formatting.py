"""Program texts as people read them."""

from __future__ import annotations

from reporter.core.formatting import count_lines, format_program

UNPARSED = """import torch
class Model(torch.nn.Module):

    def forward(self, x):
        return x

    @staticmethod
    def scale():
        return 2
"""
SHOWN = UNPARSED.replace("torch\nclass", "torch\n\n\nclass").replace("Module):\n\n", "Module):\n")


def test_the_first_method_stands_right_below_the_head_of_its_class() -> None:
    assert format_program(UNPARSED) == SHOWN
    assert format_program(SHOWN) == SHOWN


def test_blank_lines_are_no_lines() -> None:
    assert count_lines(SHOWN) == count_lines(UNPARSED) == 7
    assert count_lines(" \n\n") == 0
