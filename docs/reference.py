"""The parts of the reference that the code knows best: mkdocs fills them in when it builds the
site.

A page holds a line `<!-- generated: NAME -->`; the text of the section NAME takes its place. So a
new command, option, setting, exit code or verdict stands in the reference without being written
there. `mkdocs.yml` names this file under `hooks`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import msgspec
import typer
import typer.main

from collectors.protocol.repro_words import Property
from reporter.cli.main import COMMANDS, RUNS_SCRIPT
from reporter.core import errors
from reporter.core.kinds import BUGS, Kind, Layer, RungOutcome
from reporter.core.setting_sources import ENVIRONMENT_PREFIX
from reporter.core.settings import list_settings
from reporter.diagnose.excuses import EXCEPTIONS, EXCUSES
from reporter.diagnose.explanation import EXPLANATIONS
from reporter.diagnose.rungs import RUNGS
from reporter.report.environment import FACTS
from reporter.report.sections.check_document import CheckDocument
from reporter.report.sections.report_document import Report

#: The tables of `collectors.machine.environment_variables`.
_TABLES = ("_ISA", "_ALLOCATOR", "_AFFINITY", "WORDS")
MARKER = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.M)
#: The comment lines above a member of an enum, and its name.
COMMENTED = re.compile(r"((?:^ +#: .*\n)+) +(\w+) = ", re.M)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """mkdocs calls it with the text of each page; raises KeyError for an unknown section."""
    return MARKER.sub(lambda found: SECTIONS[found[1]](), markdown)


def render_commands() -> str:
    """Every command with its usage, arguments and options."""
    return "\n\n".join(_render_command(verb) for verb in COMMANDS)


def render_settings() -> str:
    """Every option that more than one run may have, with its variable and its key in a file."""
    rows = [
        (
            _render_code(*setting.flags),
            _render_code(ENVIRONMENT_PREFIX + name.upper()),
            _render_code(name.replace("_", "-")),
            _render_cell(setting.help),
        )
        for name, setting in list_settings().items()
        if setting.everywhere and not setting.hidden
    ]
    return _render_table(("option", "variable", "key", "meaning"), rows)


def render_exit_codes() -> str:
    """The exit code of each class of errors, with when it is raised."""
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    raised = [k for k in kinds if issubclass(k, errors.BugreportError)]
    raised.remove(errors.BugreportError)
    rows = {(kind.exit_code, _read_first_paragraph(kind)) for kind in raised}
    return _render_table(
        ("code", "raised when"), [(str(code), _render_cell(text)) for code, text in sorted(rows)]
    )


def render_bugs() -> str:
    """The kinds that are faults of the compiler."""
    return _render_kinds(kind for kind in Kind if kind in BUGS)


def render_no_bugs() -> str:
    """The kinds that are not."""
    return _render_kinds(kind for kind in Kind if kind not in BUGS)


def render_excuses() -> str:
    """What may excuse a difference, in the order in which it is asked."""
    rows = [
        (
            str(number),
            _render_code(one.kind.value),
            _render_code(*one.rungs),
            _explain(one.explains),
            _render_cell(_read_first_paragraph(one.ask)),
        )
        for number, one in enumerate(EXCUSES, 1)
    ]
    return _render_table(("", "kind", "measurement", "may explain", "what it shows"), rows)


def _explain(properties: frozenset[str]) -> str:
    if properties == EXCEPTIONS:
        return "an exception of the same class"
    if Property.SIDE_EFFECT in properties:
        return "values, sizes and side effects"
    return "values and sizes" if Property.SHAPE in properties else "values"


def render_layers() -> str:
    """The layers, with what the code says of each."""
    return _render_enum("layer", Layer)


def render_rungs() -> str:
    """The variations that `--rungs` may name."""
    return "\n".join(f"- {_render_code(name)}" for name in RUNGS)


def render_outcomes() -> str:
    """The outcomes of a rung, with what the code says of each."""
    return _render_enum("outcome", RungOutcome)


def render_report_schema() -> str:
    """The sections of `report.json`."""
    return _render_sections(Report)


def render_check_schema() -> str:
    """The sections of the document of `check --json`."""
    return _render_sections(CheckDocument)


def render_what_leaves() -> str:
    """The facts of the machine, with what may leave of each."""
    rows = [(_render_code(fact.name), _render_cell(fact.leaves)) for fact in FACTS]
    return _render_table(("fact", "what leaves"), rows)


def render_variables() -> str:
    """The environment variables that are not torch's, with the words that may leave."""
    text = (
        Path(__file__).parent.parent / "collectors" / "machine" / "environment_variables.py"
    ).read_text(encoding="utf-8")
    values: dict[str, Any] = {}
    for node in ast.parse(text).body:  # the module itself imports torch
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in _TABLES and node.value is not None:
                values[target.id] = eval(ast.unparse(node.value), dict(values))  # literals
    rows = [
        (_render_code(name), _render_code(*words.split()) or "numbers, yes and no")
        for name, words in values["WORDS"].items()
    ]
    return _render_table(("variable", "words"), rows)


SECTIONS: dict[str, Callable[[], str]] = {
    "commands": render_commands,
    "settings": render_settings,
    "exit-codes": render_exit_codes,
    "bugs": render_bugs,
    "no-bugs": render_no_bugs,
    "excuses": render_excuses,
    "layers": render_layers,
    "rungs": render_rungs,
    "outcomes": render_outcomes,
    "report-schema": render_report_schema,
    "check-schema": render_check_schema,
    "what-leaves": render_what_leaves,
    "variables": render_variables,
}


def _render_command(verb: str) -> str:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(importlib.import_module(f"reporter.cli.commands.{verb}").run_command)
    parser: Any = typer.main.get_command(app)
    arguments = [p for p in parser.params if p.param_type_name == "argument" and not p.hidden]
    options = [p for p in parser.params if p.param_type_name == "option" and not p.hidden]
    words = (
        ["SCRIPT [ARGS...]"] if verb in RUNS_SCRIPT else [_render_argument(a) for a in arguments]
    )
    usage = " ".join(["bugreport", verb, *(["[OPTIONS]"] if options else []), *words])
    rows = [(_render_code(_render_argument(a)), _render_cell(a.help)) for a in arguments if a.help]
    rows += [(_render_flags(option), _render_cell(option.help)) for option in options]
    table = _render_table(("argument or option", "meaning"), rows)
    about = inspect.cleandoc(parser.help or "")
    return "\n\n".join([f"## {verb}", f"```text\n{usage}\n```", about, table])


def _render_argument(argument: Any) -> str:
    name: str = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _render_flags(option: Any) -> str:
    words = [*option.opts, *option.secondary_opts]
    return _render_code(*words) + (f" {_render_code(option.metavar)}" if option.metavar else "")


def _render_kinds(kinds: Iterable[Kind]) -> str:
    rows = [(_render_code(kind.value), _render_cell(EXPLANATIONS[kind])) for kind in kinds]
    return _render_table(("kind", "what it means"), rows)


def _render_enum(head: str, words: type[Enum]) -> str:
    """The members of an enum, with the `#:` comments above them."""
    found = COMMENTED.findall(inspect.getsource(words))
    said = {name: " ".join(re.findall(r"#: (.*)", text)) for text, name in found}
    rows = [
        (_render_code(m.value), _render_cell(said[name])) for name, m in words.__members__.items()
    ]
    return _render_table((head, "what it means"), rows)


def _render_sections(document: type[Any]) -> str:
    """A document and every section that it has, each with its fields."""
    parts, todo = [], [document]
    while todo:
        part = todo.pop(0)
        if part in parts:
            continue
        parts.append(part)
        hints = typing.get_type_hints(part)
        todo += [inner for hint in hints.values() for inner in _find_structs(hint)]
    return "\n\n".join(_render_section(part) for part in parts)


def _find_structs(hint: Any) -> list[type[Any]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return [hint]
    return [inner for argument in typing.get_args(hint) for inner in _find_structs(argument)]


def _render_section(part: type[Any]) -> str:
    source = inspect.getsource(part)
    said = {name: text for text, name in re.findall(r"#: (.+)\n    (\w+):", source)}
    keys = dict(zip(part.__struct_fields__, part.__struct_encode_fields__))
    rows = [
        (
            _render_code(keys[name]),
            _render_code(str(hint).replace("|", "or")),
            _render_cell(said.get(name, "")),
        )
        for name, hint in part.__annotations__.items()
    ]
    about = inspect.cleandoc(part.__doc__ or "")
    table = _render_table(("field", "type", ""), rows)
    return "\n\n".join((f"### {part.__name__}", about, table))


def _read_first_paragraph(kind: object) -> str:
    text = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
    return text.removeprefix("Raised when ")


def _render_code(*words: str) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _render_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")


def _render_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
