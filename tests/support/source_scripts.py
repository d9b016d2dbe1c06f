"""The private programs under tests/data/scripts/source, and their way through source mode.

Each defines ENTRY and ARGS, some KWARGS and BACKEND. Every word with `secret` in it (in any
alphabet that the script uses) is a canary: no public byte may contain one.
"""

from __future__ import annotations

import functools
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from anonymizer.source.rewriting import SourceError, rebuild
from collectors.machine import vocabulary
from collectors.source import equivalence, introspection, source
from collectors.trace import custom_operators
from reporter.reduce.source_candidates import RewrittenProgram
from reporter.whole_model.source_model import build_request
from tests.support.round_trips import call_of, in_a_fork
from tests.support.scripts import HOME

_FOLDER = HOME / "source"
NAMES = sorted(path.stem for path in _FOLDER.glob("*.py"))


@functools.cache
def words() -> Any:
    """The words of torch, which may stay."""
    return vocabulary.collect_vocabulary()


def namespace(path: Path) -> dict[str, Any]:
    """What a program defines; only for a fork, since its modules stay, and the kernels of its
    operators are kept.
    """
    custom_operators.keep_kernels(torch.library)
    sys.path.insert(0, str(path.parent))
    return runpy.run_path(str(path))


def gathered(paths: Iterable[Path]) -> dict[str, Any]:
    """`{"gathered", "result"}` of each program, by its name: what is told about it, and what it
    returns.
    """

    def work() -> dict[str, Any]:
        found = {}
        for path in paths:
            made = namespace(path)
            entry, args, kwargs = made["ENTRY"], made["ARGS"], made.get("KWARGS", {})
            told = source.gather(entry, args, kwargs, made.get("BACKEND"))
            result = looks(introspection.find_original(entry)(*args, **kwargs))
            found[path.stem] = {"gathered": told, "result": result}
        return found

    answer: dict[str, Any] = in_a_fork(work)
    return answer


def looks(value: Any) -> Any:
    """A value as it is seen from outside: nothing of it depends on random numbers."""
    if isinstance(value, torch.Tensor):
        return [list(value.shape), list(value.stride()), str(value.dtype), value.requires_grad]
    if isinstance(value, (tuple, list)):
        return [looks(each) for each in value]
    return repr(value)


def compared(path: Path, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Any:
    """How the rewriting of a program, its request changed by `change`, compares with the
    program.
    """
    return answer(lambda: namespace(path), change)["found"]


def answer(
    make: Callable[[], dict[str, Any]], change: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    """`{"text", "problems", "found"}` for what `make` returns: ENTRY, ARGS, perhaps KWARGS and
    BACKEND.
    """
    public = words()

    def work() -> Any:
        torch.manual_seed(0)
        made = make()
        entry = introspection.find_original(made["ENTRY"])
        options = {"backend": made["BACKEND"]} if "BACKEND" in made else {}
        call = call_of((entry, made["ARGS"], made.get("KWARGS", {})), options)

        def told() -> Any:
            return source.gather(call.function, call.args, call.kwargs, options.get("backend"))

        try:
            program = rebuild(in_a_fork(told), public)
        except SourceError as reason:
            return {"text": "", "problems": [str(reason)], "found": None}
        with tempfile.TemporaryDirectory() as name:
            asked = build_request(RewrittenProgram(program), name + "/values.pt")
            change(asked)
            found = equivalence.prove_equivalence(call, asked)
        return {"text": asked["text"], "problems": program.problems, "found": found}

    made: dict[str, Any] = in_a_fork(work)
    return made
