"""Every command, option, setting, variable, exit code, kind, layer and key of a report has its
place in the reference.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import types

import pytest

from reporter.cli.main import COMMANDS
from reporter.core import errors
from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.core.settings import list_settings
from reporter.diagnose.rungs import RUNGS
from tests.support.places import ROOT

VARIABLE = re.compile(r"\"(BUGREPORT_[A-Z_]+[A-Z])\"")


def _loaded() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = _loaded()


@functools.cache
def page(name: str) -> str:
    """The text of a reference page as the site has it."""
    text = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    made: str = REFERENCE.on_page_markdown(text)
    return made


def chapter(verb: str) -> str:
    """What the page of the commands says of one of them."""
    return page("commands").split(f"\n## {verb}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_command_stands_there_with_every_option_of_its_help(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from reporter.cli import main

    main.run([verb, "--help"])
    shown = re.findall(r"^\s+(?:-\w, )?(--[a-z-]+)", capsys.readouterr().out, re.M)
    assert "--help" in shown
    assert not [flag for flag in shown if flag != "--help" and f"`{flag}`" not in chapter(verb)]


def test_every_setting_stands_there_with_its_flag_variable_and_key() -> None:
    declared = [(n, s) for n, s in list_settings().items() if s.everywhere and not s.hidden]
    for name, setting in declared:
        words = [setting.long_flag, "BUGREPORT_" + name.upper(), name.replace("_", "-")]
        assert not [word for word in words if f"`{word}`" not in page("settings")]
    all_commands = page("commands")
    shown = [s for s in list_settings().values() if not s.hidden]
    assert not [s.long_flag for s in shown if f"`{s.long_flag}`" not in all_commands]


def test_every_variable_that_the_code_reads_stands_there() -> None:
    found = {
        name
        for top in ("reporter", "collectors", "templates", "anonymizer")
        for path in (ROOT / top).rglob("*.py")
        for name in VARIABLE.findall(path.read_text(encoding="utf-8"))
    }
    assert found
    assert not [name for name in found if f"`{name}`" not in page("settings")]


def test_every_exit_code_stands_there() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = {kind.exit_code for kind in kinds if issubclass(kind, errors.BugreportError)}
    assert not [code for code in {0, 1, *raised} if f"| {code} |" not in page("exit-codes")]


def test_every_kind_layer_and_rung_stands_there() -> None:
    words = [*(word.value for kind in (Kind, Layer, RungOutcome) for word in kind), *RUNGS]
    assert not [word for word in words if f"`{word}`" not in page("verdicts")]


def test_every_key_of_a_real_report_stands_there() -> None:
    documents = (ROOT / "tests" / "data" / "golden").glob("*/report.json")
    keys = {key for path in documents for key in json.loads(path.read_text(encoding="utf-8"))}
    assert keys
    shown = page("report")
    assert not [key for key in keys if f"`{key}`" not in shown]


def test_an_unknown_section_is_an_error() -> None:
    with pytest.raises(KeyError):
        REFERENCE.on_page_markdown("<!-- generated: nothing -->")
