"""Names that people give."""

from __future__ import annotations

import ast

from anonymizer.plain.renaming import name_by_hand

SUBCLASS = """
class Thing1(torch.Tensor):
    @classmethod
    def __torch_function__(arg1, arg2, arg3, arg4=(), arg5=None):
        value1 = super().__torch_function__(arg2, arg3, arg4, arg5)
        return value1 * 2 if arg2 is torch.sin else value1
"""


def test_methods_by_which_a_subclass_takes_over_have_the_documented_parameters() -> None:
    text = ast.unparse(name_by_hand(ast.parse(SUBCLASS).body)[0])
    assert "def __torch_function__(cls, func, types, args=(), kwargs=None):" in text
    assert "super().__torch_function__(func, types, args, kwargs)" in text
    assert "x * 2 if func is torch.sin else x" in text
    taken = SUBCLASS.replace("value1", "types")
    assert "(cls, func" not in ast.unparse(name_by_hand(ast.parse(taken).body)[0])
