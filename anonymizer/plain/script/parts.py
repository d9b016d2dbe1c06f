"""A flat script by its parts: what it compiles, what it is called with, and what comes before."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from anonymizer.graph.randomness import draws_random_numbers

#: Layers whose constructors draw no weights.
_WEIGHTLESS = re.compile(
    r"\bnn\.(?:(?:Adaptive)?(?:Avg|Max)Pool\w*|Re[Ll][Uu]\w*|GELU|SiLU|Sigmoid|Tanh|Softmax|Flatten"
    r"|Unflatten|Identity|Dropout\w*|BatchNorm\w*|LayerNorm|GroupNorm|InstanceNorm\w*|RMSNorm"
    r"|Module|Sequential|ModuleList|ModuleDict|Parameter|functional|init|Pixel\w+|\w*Pad\w*"
    r"|Upsample|Fold|Unfold)\b"
)


@dataclass(frozen=True)
class Callee:
    """What a flat script compiles: an `expression`, and the statements `setup` that make it where
    it is an object. `compiled` is its name where the script's own statements have compiled it.
    """

    expression: str
    setup: str = ""
    is_module: bool = False
    compiled: str = ""


@dataclass(frozen=True)
class SizeLoop:
    """What changes from call to call: `names`, and for each call a row of values."""

    names: tuple[str, ...] = ()
    rows: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Script:
    """The parts of a flat script; every text is one or more complete statements.

    `arguments` are (name, expression) in the order of the call, `keywords` the text of those that
    it gives by name; `statements` come before them.
    """

    definitions: str
    called: Callee
    statements: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...]
    imports: tuple[str, ...] = ()
    loop: SizeLoop = SizeLoop()
    keywords: tuple[str, ...] = ()

    @property
    def leaves(self) -> tuple[str, ...]:
        """The arguments whose gradients are asked for."""
        made = self.statements
        return tuple(name for name, text in self.arguments if _is_leaf(name, text, made))

    @property
    def draws_inputs(self) -> bool:
        """Whether the inputs are random."""
        made = [*self.statements, *(expression for _, expression in self.arguments)]
        return draws_random_numbers("\n".join(made))

    @property
    def draws_weights(self) -> bool:
        """Whether constructing the program draws random numbers."""
        made = f"{self.definitions}\n{self.called.setup}"
        layers = re.findall(r"\bnn\.[A-Z]\w*", made)
        return draws_random_numbers(made) or any(
            not _WEIGHTLESS.fullmatch(layer) for layer in layers
        )


def _is_leaf(name: str, text: str, statements: Iterable[str]) -> bool:
    made = [text] if text else [one for one in statements if one.startswith(f"{name} = ")]
    return any("requires_grad" in one for one in made)
