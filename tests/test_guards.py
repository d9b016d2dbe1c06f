"""The missing guard of a stale graph, named and confirmed; and guard texts without the user's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reporter.diagnose.guards import MissingGuard, find
from reporter.findings import Recording
from tests.watched import watch

torch = pytest.importorskip("torch", reason="scripts are run with this interpreter's torch")

Find = Callable[[str], "MissingGuard | None"]

#: A backend that turns one size of its first input, or one number, into a constant: right for the first call only.
BAKED = """
import torch
def baked(gm, example_inputs):
    known = []
    def run(*args):
        value = {value}
        known.append(value)
        off = value - known[0]
        return [out + off if isinstance(out, torch.Tensor) else out for out in gm.forward(*args)]
    return run
"""
ROWS = BAKED.format(value="[a for a in args if isinstance(a, torch.Tensor)][0].shape[1]")
NUMBER = BAKED.format(value="[a for a in args if not isinstance(a, torch.Tensor)][-1]")


@pytest.fixture
def missing(tmp_path: Path) -> Iterator[Find]:
    """What is found about the first finding of a script's text."""
    made: list[Recording] = []

    def run(text: str) -> MissingGuard | None:
        made.append(watch(text, tmp_path))
        assert made[-1].findings, made[-1].output
        return find(made[-1].findings[0], 120)

    yield run
    for recording in made:
        recording.close()


def test_a_size_that_no_guard_checks(missing: Find) -> None:
    text = ROWS + (
        "class SecretNet(torch.nn.Module):\n"
        "    def forward(self, secret_x, secret_y):\n"
        "        return secret_x * 2 + secret_y.sum() + secret_x.size(1)\n"
        "net = torch.compile(SecretNet(), backend=baked, dynamic=True)\n"
        "for rows, columns in ((4, 5), (4, 5), (6, 7)):\n"
        "    net(torch.ones(rows, columns), secret_y=torch.ones(rows, 3))\n"
    )
    found = missing(text)
    assert found is not None
    assert {(change.place, change.compiled, change.now) for change in found.changed} == {
        ("argument 0, dimension 0", 4, 6),
        ("argument 0, dimension 1", 5, 7),
        ("argument 1, dimension 0", 4, 6),
    }
    assert found.missing == "argument 0, dimension 1 == 5"
    assert found.confirmed is True
    symbol = next(
        name for name, where in found.symbols.items() if where == "argument 0, dimension 1"
    )
    assert symbol in found.used
    assert any("argument 0.size()[1]" in guard for guard in found.checked)
    assert "secret" not in str(found.to_json()) + found.text()
    assert "a guard is missing: argument 0, dimension 1 == 5" in found.text()


def test_a_number_that_no_guard_checks(missing: Find) -> None:
    text = NUMBER + (
        "f = torch.compile(lambda x, n: x * n, backend=baked, dynamic=True)\n"
        "for n in (3, 4):\n    f(torch.ones(5), n)\n"
    )
    found = missing(text)
    assert found is not None
    assert (found.missing, found.confirmed) == ("argument 1 == 3", True)


def test_a_graph_reused_after_automatic_dynamic_shapes(missing: Find) -> None:
    text = ROWS + (
        "f = torch.compile(lambda x: x + x.size(1), backend=baked)\n"
        "for n in (4, 5, 7):\n    f(torch.ones(3, n))\n"
    )
    found = missing(text)
    assert found is not None
    (change,) = found.changed
    assert (change.compiled, change.now) == (5, 7)  # 4 was compiled as a constant
    assert (found.missing, found.confirmed) == ("argument 0, dimension 1 == 5", True)


def test_a_wrong_graph_of_its_own_lacks_no_guard(missing: Find) -> None:
    text = (
        "import torch\n"
        "def wrong(gm, example_inputs):\n    return lambda *args: [o + 1 for o in gm.forward(*args)]\n"
        "f = torch.compile(lambda x: x * 2, backend=wrong)\nf(torch.ones(3))\n"
    )
    assert missing(text) is None


GUARDS = {
    "L['x'].size()[1] == 5": ("argument 0.size()[1] == 5", False),
    "tensor 'L['x']' size mismatch at index 0. expected 4, actual 5": (
        "tensor argument 0 size mismatch at index 0. expected 4, actual 5",
        False,
    ),
    "tensor 'x' dtype mismatch. expected Float, actual Double": (
        "tensor argument 0 dtype mismatch. expected Float, actual Double",
        False,
    ),
    "L['rest'][1].size()[0] == L['x'].size()[0]": (
        "argument 3.size()[0] == argument 0.size()[0]",
        False,
    ),
    "L['self'].secret_scale == 3": ("the module.… == 3", False),
    "L['mode'] == 'secret'": ("argument 1 ==", True),
    "G['SECRET'].value == 3": ("a global value == 3", False),
    "secret_check(L['x'])": ("", True),
    "L['x'] == 0.731": ("argument 0 ==", True),
    "2 <= L['unknown'].size()[0]": ("2 <= a local value.size()[0]", False),
}


@pytest.mark.parametrize("text", GUARDS)
def test_guard_texts_keep_no_word_of_the_users(text: str) -> None:
    from collectors import context, guard_words, rungs

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: object, mode: str, *rest: object) -> None: ...

    call = rungs.Call(Net(), None, (), {}, {}, [], context.capture())
    assert guard_words.publish(text, guard_words.labels(call)) == GUARDS[text]
