"""Decorators of functions on the way to a failing call, as statements."""

from __future__ import annotations

import ast
import textwrap

import pytest

from anonymizer.source.script.decorators import write_decorators_out
from anonymizer.source.script.imported_names import ImportedNames
from anonymizer.source.script.public_script import rebuild_script
from tests.unit.anonymizer.source.script.test_public_script import WORDS


def list_frames(text: str, *names: str) -> list[tuple[str, int]]:
    """The frames of functions, each with the line that ends with a comment of its name."""
    lines = text.splitlines()
    return [
        (name, next(at for at, line in enumerate(lines, 1) if line.endswith(f"# {name}")))
        for name in ("<module>", *names)
    ]


def write(text: str, *names: str) -> tuple[str, list[str]]:
    """The text without decorators, and the functions that lead to the call then."""
    text = textwrap.dedent(text)
    tree = ast.parse(text)
    paths = ImportedNames(tree.body).paths
    frames = write_decorators_out(tree, list_frames(text, *names), paths)
    return ast.unparse(tree), [name for name, _ in frames]


def rebuild(text: str, *names: str) -> str:
    text = textwrap.dedent(text)
    return rebuild_script(text, list_frames(text, *names), WORDS).write_definitions()


@pytest.mark.parametrize(
    ("decorator", "context"),
    [
        ("@torch.no_grad()", "with torch.no_grad():"),
        ("@torch.inference_mode", "with torch.inference_mode():"),
        ("@no_grad()", "with no_grad():"),
        ("@torch.set_grad_enabled(False)", "with torch.set_grad_enabled(False):"),
        ("@torch.autocast('cpu')", "with torch.autocast('cpu'):"),
        ("@paused(2)", "with paused(2):"),
    ],
)
def test_a_context_becomes_a_with(decorator: str, context: str) -> None:
    text = f"""
        import contextlib
        import torch
        from torch import no_grad

        @contextlib.contextmanager
        def paused(n):
            yield n

        {decorator}
        def run(f):
            x = torch.ones(2)
            f(x)  # run

        run(torch.compile(torch.relu))  # <module>
        """
    found, _ = write(text, "run")
    assert f"def run(f):\n    {context}\n        x = torch.ones(2)\n        f(x)" in found
    assert decorator not in found


def test_the_innermost_context_is_the_innermost_with() -> None:
    text = """
        import functools
        import torch

        @torch.enable_grad()
        @functools.lru_cache(maxsize=None)
        @torch.no_grad()
        def run():
            f()  # run

        run()  # <module>
        """
    found, _ = write(text, "run")
    assert "    with torch.enable_grad():\n        with torch.no_grad():\n            f()" in found
    assert "lru_cache(" not in found


def test_a_wrapper_is_left_out_but_for_what_it_does_around_its_call() -> None:
    text = """
        import functools
        import torch

        def timed(label):
            def decorate(function):
                @functools.wraps(function)
                def wrapper(*args, **kwargs):
                    with torch.no_grad(), Timer(label) as timer:
                        result = function(*args, **kwargs)  # wrapper
                    return result
                return wrapper
            return decorate

        @timed("run")
        def run(f):
            f()  # run

        run(torch.compile(torch.relu))  # <module>
        """
    found, names = write(text, "wrapper", "run")
    assert names == ["<module>", "run"]
    assert "\ndef run(f):\n    with torch.no_grad():\n        f()" in found


@pytest.mark.parametrize("decorator", ["@registry.add", "@twice", "@torch.vmap"])
def test_a_decorator_that_is_not_known_stays(decorator: str) -> None:
    text = f"""
        import torch

        def twice(function):
            return lambda: (function(), function())

        {decorator}
        @torch.no_grad()
        def run():
            f()  # run

        run()  # <module>
        """
    found, names = write(text, "run")
    assert decorator in found and names == ["<module>", "run"]


def test_a_generator_keeps_its_statements() -> None:
    text = """
        import torch

        @torch.no_grad()
        def run():
            yield f()  # run

        list(run())  # <module>
        """
    found, _ = write(text, "run")
    assert "@torch.no_grad()\ndef run():\n    yield f()" in found


METHODS = """
    import functools
    import torch

    class Velkor:
        scale = 3

        @classmethod
        def start(cls, size):
            one = cls()
            one.run(torch.ones(size) * cls.scale)  # start

        @torch.no_grad()
        def run(self, x):
            if x is None:
                return None
            got = self.score(x, self.fast)  # run
            print("velkor", got)
            return got

        @functools.cached_property
        def fast(self):
            return torch.compile(torch.relu)

        @staticmethod
        def score(x, call):
            return call(x)  # score

    Velkor.start(2)  # <module>
    """


def test_methods_of_all_kinds_are_written_where_they_are_called() -> None:
    found = rebuild(METHODS, "start", "run", "score")
    assert found.rstrip().endswith(
        "\nwith torch.no_grad():\n    compiled = value2.attr4\n    out = compiled(value3)"
    )
    assert "velkor" not in found.lower()
    assert "torch.ones(value1) * Thing1." in found


def test_a_property_that_makes_the_call_is_written_where_it_is_read() -> None:
    text = """
        import torch

        class Velkor:
            @property
            def total(self):
                x = torch.ones(2)
                return torch.compile(torch.relu)(x)  # total

        def main():
            velkor = Velkor()
            print(velkor.total)  # main

        main()  # <module>
        """
    found = rebuild(text, "main", "total").rstrip()
    assert found.endswith("\nout = compile(torch.relu)(value2)")


def test_what_follows_the_call_in_a_with_is_left_out() -> None:
    text = """
        import torch

        with torch.no_grad():
            fast = torch.compile(torch.relu)
            x = torch.ones(2)
            got = fast(x)  # <module>
            print(got.backward())
        """
    assert "backward" not in rebuild(text)
