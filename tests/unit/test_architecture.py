"""What holds for every module of a package, whatever it does."""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT

COLLECTORS = sorted((ROOT / "collectors").rglob("*.py"))
#: What the collectors may import besides the standard library; all but torch only where the
#: program has it.
THERE = {"torch", "triton", "IPython", "traitlets", "pytest", "bugreport"}


@pytest.mark.parametrize("path", COLLECTORS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_target_side_is_python_3_9(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_the_target_side_needs_the_standard_library_and_torch_only() -> None:
    found = {
        name.split(".")[0]: path
        for path in COLLECTORS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
    }
    odd = {name: path for name, path in found.items() if name not in sys.stdlib_module_names}
    assert set(odd) <= THERE, odd


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


#: What starts in a process of the user's before the program has imported torch.
BEFORE_TORCH = (
    "entry.attachment",
    "record.channel",
    "record.ending",
    "record.hooks",
    "record.recorder",
    "record.rerun",
    "record.starting",
    "triton.run",
    "worker.worker",
)


@pytest.mark.parametrize("name", BEFORE_TORCH)
def test_nothing_imports_torch_before_the_program_does(name: str) -> None:
    """It may set variables first, which torch reads when it is imported."""
    seen: dict[str, str] = {}
    waiting = [(f"collectors.{name}", name)]
    while waiting:
        module, chain = waiting.pop()
        assert module.split(".")[0] not in ("torch", "triton"), chain
        if module.startswith("collectors.") and module not in seen:
            seen[module] = chain
            waiting += [(one, f"{chain} -> {one}") for one in _imported_on_loading(module)]


def _imported_on_loading(module: str) -> list[str]:
    """The modules that a module of the collectors imports when it is loaded itself."""
    base = ROOT / module.replace(".", "/")
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    if not path.exists():  # a name in a module, not a module
        return []
    package = module if base.is_dir() else module.rpartition(".")[0]
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            near = package.rsplit(".", node.level - 1)[0] + "." if node.level else ""
            source = (near + (node.module or "")).rstrip(".")
            found += [source, *(f"{source}.{alias.name}" for alias in node.names)]
    return found


PACKAGES = ("reporter", "anonymizer", "templates", "collectors")


@pytest.mark.parametrize("top", PACKAGES)
def test_a_room_says_what_lives_there_who_may_import_it_and_what_it_never_does(top: str) -> None:
    for path in (ROOT / top).rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert said.count(".") >= 2, path
        if path.parent.name != "bugreport":  # the package that users import
            assert "import" in said and re.search(r"\b(never|nothing|none)\b", said, re.I), path


@pytest.mark.parametrize("top", PACKAGES)
def test_lines_of_modules_and_templates_have_at_most_100_columns(top: str) -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / top).rglob("*.*")
        if path.suffix in (".py", ".j2")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 100
    ]
    assert long == []


#: What has no type of its own, by that word and by names for a JSON object of any form.
ANY, JSON = r"\bAny\b", r"\bJson(Object)?\b"


@pytest.mark.parametrize("top", PACKAGES)
def test_any_and_open_json_stay_where_they_are_counted(top: str) -> None:
    """`Json` is an alias of `dict[str, Any]`, which hides the word."""
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    row = re.search(rf"^\| `{top}` \| (\d+) \| (\d+) \|", guide, re.M)
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / top).rglob("*.py")]
    lines = [line for text in texts for line in text.splitlines() if "import" not in line]
    counts = [len([line for line in lines if re.search(word, line)]) for word in (ANY, JSON)]
    assert row and counts == [int(number) for number in row.groups()]


def test_nothing_but_a_row_of_a_table_is_made_of_more_than_six_things() -> None:
    """The guide lists the rows, and what is left beside them, each with the reason; a section of a
    document and a message have the keys that they have.
    """
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for top in PACKAGES
        for path in (ROOT / top).rglob("*.py")
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    needed = {node.name for node in classes if count_needed(node) > 6}
    given = {name for tree in trees for name, count in count_given(tree) if count > 6}
    records = [node for node in classes if not _is_section(node)]
    large = needed | given & {node.name for node in records if count_taken(node) > 6}
    assert sorted(list_rows("made of more than six values")) == sorted(large)


def test_no_function_takes_more_than_six_things() -> None:
    """But for those that the guide lists, each with the reason."""
    large = [
        node.name
        for top in PACKAGES
        for path in (ROOT / top).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if node.name != "__init__" and count_parameters(node) > 6
    ]
    assert sorted(list_rows("function of more than six parameters")) == sorted(large)


def list_rows(heading: str) -> list[str]:
    """The names in the first column of that table of the guide."""
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = guide.partition(f"| {heading} |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def _is_section(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base) in ("Section", "TypedDict") for base in node.bases)


def count_needed(node: ast.ClassDef) -> int:
    """What has to be given to make one: parameters of its own `__init__`, or fields of a
    dataclass.
    """
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            return len(method.args.args) + len(method.args.kwonlyargs) - 1
    if not any("dataclass" in ast.unparse(each) for each in node.decorator_list):
        return 0
    return sum(isinstance(each, ast.AnnAssign) and each.value is None for each in node.body)


def count_taken(node: ast.ClassDef) -> float:
    """The most that one can be given; infinite where a class above it has a say in that."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            return count_parameters(method)
    if any(ast.unparse(base) != "NamedTuple" for base in node.bases):
        return math.inf
    return sum(isinstance(each, ast.AnnAssign) for each in node.body)


def count_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Those that a caller gives; `*args` and `**more` are one each."""
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    own = bool(named) and named[0].arg in ("self", "cls")
    return len(named) + sum(map(bool, (node.args.vararg, node.args.kwarg))) - own


def count_given(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, float]]:
    """What each call is given, by the name of what it calls; `cls` is the class around it. What
    stands behind `*` or `**` may be any number.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            unpacked = any(isinstance(each, ast.Starred) for each in node.args)
            unpacked = unpacked or any(each.arg is None for each in node.keywords)
            count = math.inf if unpacked else len(node.args) + len(node.keywords)
            yield inside if name == "cls" else name, count
        yield from count_given(node, node.name if isinstance(node, ast.ClassDef) else inside)


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ("Row(1, 2, c=3)", [("Row", 3)]),
        ("rows.Row(1, **more)", [("Row", math.inf)]),
        ("Row(1, *more)", [("Row", math.inf)]),
        ("class Row:\n    def of(cls):\n        return cls(1)", [("Row", 1)]),
        ("Row(Cell(1), 2)", [("Row", 2), ("Cell", 1)]),
    ],
)
def test_what_a_call_is_given_is_counted_by_place_and_by_name(
    source: str, counts: list[tuple[str, float]]
) -> None:
    assert list(count_given(ast.parse(source))) == counts


def test_no_class_is_given_more_than_six_values_by_their_place_alone() -> None:
    """Nobody who reads the call can tell the seventh value from the eighth."""
    trees = {
        path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8"))
        for top in PACKAGES
        for path in (ROOT / top).rglob("*.py")
    }
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    classes = {node.name for _, node in nodes if isinstance(node, ast.ClassDef)} | {"cls"}
    long = [
        f"{path}:{node.lineno}"
        for path, node in nodes
        if isinstance(node, ast.Call) and len(node.args) > 6
        if ast.unparse(node.func).rpartition(".")[2] in classes
    ]
    assert len(classes) > 500 and long == []


def test_what_is_imported_by_its_name_lies_below_as_well() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers = re.search(r'containers = \["collectors"\]\nlayers = \[\n(.*?)\]', project, re.S)
    assert layers is not None
    rows = [line.strip(' ",') for line in layers.group(1).splitlines()]
    level = {room: number for number, row in enumerate(rows) for room in row.split(" | ")}
    named = [
        (path.relative_to(ROOT / "collectors").parts[0], room)
        for path in COLLECTORS
        for room in re.findall(
            r"(?:_refer_to\(|import_module\([^()\n]*\+ )\"\.?(\w+)\.\w+\"", path.read_text("utf-8")
        )
    ]
    assert len(named) > 5
    assert [(here, room) for here, room in named if level.get(here, -1) >= level[room]] == []


@pytest.mark.parametrize("top", ["reporter", "anonymizer", "collectors"])
def test_the_map_draws_the_rooms_that_there_are(top: str) -> None:
    drawing = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```text\n")[1]
    if top == "reporter":
        drawn = re.findall(r"^│ (\w+) +│", drawing, re.M)
    else:  # the part that begins with its name, up to the first sentence or the next package
        part = re.search(rf"^ {top}: ([^;]*?)(?:;|\n [a-z]+:|\n\n)", drawing, re.M)
        assert part is not None
        drawn = re.findall(r"\w+", part.group(1))
    there = {path.stem for path in (ROOT / top).glob("*") if path.suffix in ("", ".py")}
    # data is no code, and the text below the drawing says of hook that users import it
    extra = {"__init__", "__main__", "__pycache__", "data", "hook"}
    assert sorted(drawn) == sorted(there - extra)
