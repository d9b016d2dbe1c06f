"""A mode that looks at the operators of a program.

torch runs a higher-order operator (`cond`, `flex_attention`) only under modes that have said how:
`HigherOrderOperator.dispatch` in `torch/_ops.py`, 2.1 to 2.15.
"""

from __future__ import annotations

import functools
from typing import Any, Dict, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class DispatcherMode(TorchDispatchMode):  # type: ignore[misc]
    """Sees every operator but those that a higher-order one runs."""

    def __enter__(self) -> DispatcherMode:
        known: Dict[str, Any] = getattr(torch._ops, "_higher_order_ops", {})
        for operator in known.values():
            # eager mode, too, runs some of them under Dynamo, which would trace what is here
            run = torch._compile._disable_dynamo(functools.partial(_hand_over, operator))
            operator.python_key_table.setdefault(type(self), run)
        super().__enter__()
        return self

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Lets Dynamo work although this mode is on, which 2.6 does in any case."""
        return True

    def run_higher_order(
        self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> object:
        """Runs a higher-order operator; this mode is off meanwhile."""
        result: object = operator(*args, **kwargs)
        return result


def _hand_over(operator: Any, mode: DispatcherMode, *args: Any, **kwargs: Any) -> object:
    return mode.run_higher_order(operator, args, kwargs)
