"""Whose code it is: a module of the program may have the name of one of Python's."""

from __future__ import annotations

import abc
import importlib
import os
import statistics
import sys
from pathlib import Path

import pytest

from collectors.machine.libraries import is_library_file, is_of_python_or_torch


@pytest.mark.parametrize("name", ["torch.nn", "numpy", "builtins", "math", "os.path", "abc", "sys"])
def test_what_everybody_has(name: str) -> None:
    assert is_of_python_or_torch(name)


@pytest.mark.parametrize("name", ["__main__", "pytest", "torchvision", "", None, __name__])
def test_what_not_everybody_has(name: str | None) -> None:
    assert not is_of_python_or_torch(name)


def test_a_module_of_the_program_may_have_a_name_of_pythons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_of_python_or_torch("statistics")
    (tmp_path / "statistics.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "statistics")
    monkeypatch.setitem(sys.modules, "statistics", importlib.import_module("statistics"))
    assert not is_of_python_or_torch("statistics") and not is_of_python_or_torch("statistics.parts")


def test_files_of_python_may_be_frozen_or_links(tmp_path: Path) -> None:
    own = statistics.mean.__code__.co_filename
    (tmp_path / "linked.py").symlink_to(own)
    for path in (own, str(tmp_path / "linked.py"), abc.abstractmethod.__code__.co_filename):
        assert is_library_file(path)
    for path in (__file__, pytest.__file__, "<string>", "<stdin>", os.devnull):
        assert not is_library_file(path)
