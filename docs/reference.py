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

from collectors.captured import Property
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

#: The tables of `collectors.machine.variables`.
_TABLES = ("_ISA", "_ALLOCATOR", "_AFFINITY", "WORDS")
MARKER = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.M)
#: The comment lines above a member of an enum, and its name.
COMMENTED = re.compile(r"((?:^ +#: .*\n)+) +(\w+) = ", re.M)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """mkdocs calls it with the text of each page; raises KeyError for an unknown section."""
    return MARKER.sub(lambda found: SECTIONS[found[1]](), markdown)


def commands() -> str:
    """Every command with its usage, arguments and options."""
    return "\n\n".join(_command(verb) for verb in COMMANDS)


def setting_table() -> str:
    """Every option that more than one run may have, with its variable and its key in a file."""
    rows = [
        (
            _code(*setting.flags),
            _code(ENVIRONMENT_PREFIX + name.upper()),
            _code(name.replace("_", "-")),
            _cell(setting.help),
        )
        for name, setting in list_settings().items()
        if setting.everywhere and not setting.hidden
    ]
    return _table(("option", "variable", "key", "meaning"), rows)


def exit_codes() -> str:
    """The exit code of each class of errors, with when it is raised."""
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    raised = [k for k in kinds if issubclass(k, errors.BugreportError)]
    raised.remove(errors.BugreportError)
    rows = {(kind.exit_code, _first_paragraph(kind)) for kind in raised}
    return _table(
        ("code", "raised when"), [(str(code), _cell(text)) for code, text in sorted(rows)]
    )


def bugs() -> str:
    """The kinds that are faults of the compiler."""
    return _kinds(kind for kind in Kind if kind in BUGS)


def no_bugs() -> str:
    """The kinds that are not."""
    return _kinds(kind for kind in Kind if kind not in BUGS)


def excuses() -> str:
    """What may excuse a difference, in the order in which it is asked."""
    rows = [
        (
            str(number),
            _code(one.kind.value),
            _code(*one.rungs),
            _explained(one.explains),
            _cell(_first_paragraph(one.ask)),
        )
        for number, one in enumerate(EXCUSES, 1)
    ]
    return _table(("", "kind", "measurement", "may explain", "what it shows"), rows)


def _explained(properties: frozenset[str]) -> str:
    if properties == EXCEPTIONS:
        return "an exception of the same class"
    if Property.SIDE_EFFECT in properties:
        return "values, sizes and side effects"
    return "values and sizes" if Property.SHAPE in properties else "values"


def layers() -> str:
    """The layers, with what the code says of each."""
    return _enum("layer", Layer)


def rungs() -> str:
    """The variations that `--rungs` may name."""
    return "\n".join(f"- {_code(name)}" for name in RUNGS)


def outcomes() -> str:
    """The outcomes of a rung, with what the code says of each."""
    return _enum("outcome", RungOutcome)


def report_schema() -> str:
    """The sections of `report.json`."""
    return _sections(Report)


def check_schema() -> str:
    """The sections of the document of `check --json`."""
    return _sections(CheckDocument)


def what_leaves() -> str:
    """The facts of the machine, with what may leave of each."""
    rows = [(_code(fact.name), _cell(fact.leaves)) for fact in FACTS]
    return _table(("fact", "what leaves"), rows)


def variables() -> str:
    """The environment variables that are not torch's, with the words that may leave."""
    text = (Path(__file__).parent.parent / "collectors" / "machine" / "variables.py").read_text(
        encoding="utf-8"
    )
    values: dict[str, Any] = {}
    for node in ast.parse(text).body:  # the module itself imports torch
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in _TABLES and node.value is not None:
                values[target.id] = eval(ast.unparse(node.value), dict(values))  # literals
    rows = [
        (_code(name), _code(*words.split()) or "numbers, yes and no")
        for name, words in values["WORDS"].items()
    ]
    return _table(("variable", "words"), rows)


SECTIONS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "settings": setting_table,
    "exit-codes": exit_codes,
    "bugs": bugs,
    "no-bugs": no_bugs,
    "excuses": excuses,
    "layers": layers,
    "rungs": rungs,
    "outcomes": outcomes,
    "report-schema": report_schema,
    "check-schema": check_schema,
    "what-leaves": what_leaves,
    "variables": variables,
}


def _command(verb: str) -> str:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(importlib.import_module(f"reporter.cli.commands.{verb}").run_command)
    parser: Any = typer.main.get_command(app)
    arguments = [p for p in parser.params if p.param_type_name == "argument" and not p.hidden]
    options = [p for p in parser.params if p.param_type_name == "option" and not p.hidden]
    words = ["SCRIPT [ARGS...]"] if verb in RUNS_SCRIPT else [_argument(a) for a in arguments]
    usage = " ".join(["bugreport", verb, *(["[OPTIONS]"] if options else []), *words])
    rows = [(_code(_argument(a)), _cell(a.help)) for a in arguments if a.help]
    rows += [(_flags(option), _cell(option.help)) for option in options]
    table = _table(("argument or option", "meaning"), rows)
    about = inspect.cleandoc(parser.help or "")
    return "\n\n".join([f"## {verb}", f"```text\n{usage}\n```", about, table])


def _argument(argument: Any) -> str:
    name: str = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _flags(option: Any) -> str:
    words = [*option.opts, *option.secondary_opts]
    return _code(*words) + (f" {_code(option.metavar)}" if option.metavar else "")


def _kinds(kinds: Iterable[Kind]) -> str:
    rows = [(_code(kind.value), _cell(EXPLANATIONS[kind])) for kind in kinds]
    return _table(("kind", "what it means"), rows)


def _enum(head: str, words: type[Enum]) -> str:
    """The members of an enum, with the `#:` comments above them."""
    found = COMMENTED.findall(inspect.getsource(words))
    said = {name: " ".join(re.findall(r"#: (.*)", text)) for text, name in found}
    rows = [(_code(m.value), _cell(said[name])) for name, m in words.__members__.items()]
    return _table((head, "what it means"), rows)


def _sections(document: type[Any]) -> str:
    """A document and every section that it has, each with its fields."""
    parts, todo = [], [document]
    while todo:
        part = todo.pop(0)
        if part in parts:
            continue
        parts.append(part)
        hints = typing.get_type_hints(part)
        todo += [inner for hint in hints.values() for inner in _structs(hint)]
    return "\n\n".join(_section(part) for part in parts)


def _structs(hint: Any) -> list[type[Any]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return [hint]
    return [inner for argument in typing.get_args(hint) for inner in _structs(argument)]


def _section(part: type[Any]) -> str:
    source = inspect.getsource(part)
    said = {name: text for text, name in re.findall(r"#: (.+)\n    (\w+):", source)}
    keys = dict(zip(part.__struct_fields__, part.__struct_encode_fields__))
    rows = [
        (_code(keys[name]), _code(str(hint).replace("|", "or")), _cell(said.get(name, "")))
        for name, hint in part.__annotations__.items()
    ]
    about = inspect.cleandoc(part.__doc__ or "")
    table = _table(("field", "type", ""), rows)
    return "\n\n".join((f"### {part.__name__}", about, table))


def _first_paragraph(kind: object) -> str:
    text = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
    return text.removeprefix("Raised when ")


def _code(*words: str) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
