"""A notebook is its code cells in order, each a file of its own to the tracebacks: `train.ipynb,
cell 3`, line 2.

Where IPython is installed, as in every environment that a kernel runs in, cells run in its shell,
so magics, shell lines and top-level `await` do what they do in Jupyter. Without it the few magics
that only look or measure are taken out and all others are refused. Cells are numbered as Jupyter
does after "Restart and run all".

The host runs `survey` by location in the user's interpreter, so this file imports nothing of its
package.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import inspect
import json
import linecache
import os
import re
import sys
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from ..protocol.starting import NotebookSurvey

_INSTALL = re.compile(
    r"\s*[!%]\s*(?:(?:python\d?|\{sys\.executable\}|\$sys\.executable)\s+-m\s+)?"
    r"(?:uv\s+)?(?:pip\d?|conda|mamba|poetry)\s+(?:install|add|uninstall|remove|upgrade|update)\b"
)
#: Magics that change what is shown, and nothing that is computed.
_LOOKS = set("autoreload colors config load_ext matplotlib pdb precision reload_ext xmode".split())
_TIMED = re.compile(r"(?:\s+-(?:[nrp]\s*\d+|[a-z]+))*\s*(.*)", re.DOTALL)
_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


class NotebookError(Exception):
    """What cannot be run, as a sentence without a full stop."""


class NotebookCell:
    """One code cell that is not empty.

    `number` counts from 1; `skip` and `may_fail` are what its tags say.
    """

    def __init__(self, path: str, number: int, text: str, tags: List[str]) -> None:
        self.name = "{}, cell {}".format(path, number)
        self.number = number
        self.text = text
        self.skip = "skip-execution" in tags
        self.may_fail = "raises-exception" in tags


def read(path: str) -> Tuple[List[NotebookCell], str]:
    """The code cells of a notebook, and the text of all other cells.

    Raises:
        NotebookError: it is no notebook of format 4 or later.
        OSError: it cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as source:
            document = json.load(source)
    except (ValueError, RecursionError) as error:
        raise NotebookError("is no notebook ({})".format(error)) from None
    if not isinstance(document, dict) or not isinstance(document.get("nbformat"), int):
        raise NotebookError("is no notebook (it has no nbformat)")
    if document["nbformat"] < 4:
        raise NotebookError("has the format of before 2015; open it in Jupyter once and save it")
    try:
        return _read_cells(os.path.abspath(path), document)
    except (AttributeError, TypeError):
        raise NotebookError("is no notebook (its cells are not those of nbformat 4)") from None


def _read_cells(full: str, document: Dict[str, Any]) -> Tuple[List[NotebookCell], str]:
    """The same of a document; `full` is its path."""
    language = _read_language(document.get("metadata") or {})
    if language != "python":
        raise NotebookError("is a notebook in {}, not in Python".format(language))
    cells: List[NotebookCell] = []
    prose = []
    for entry in document.get("cells") or ():
        text = entry.get("source") or ""
        text = text if isinstance(text, str) else "".join(text)
        if entry.get("cell_type") != "code":
            prose.append(text)
        elif text.strip():
            tags = (entry.get("metadata") or {}).get("tags") or []
            cells.append(NotebookCell(full, len(cells) + 1, text, tags))
    if not cells:
        raise NotebookError("has no code cell that is not empty")
    return cells, "\n\n".join(prose)


def _read_language(metadata: Dict[str, Any]) -> str:
    info, kernel = metadata.get("language_info") or {}, metadata.get("kernelspec") or {}
    named = str(info.get("name") or kernel.get("language") or "python").lower()
    return "python" if named in ("python", "ipython") else named


def survey(path: str) -> NotebookSurvey:
    """Whether a notebook can be run here."""
    try:
        cells, prose = read(path)
        left_out = []
        for cell in cells:
            text, lines = _adapt(cell)
            left_out += lines
            _parse(prepare(cell, text), cell)
    except NotebookError as error:
        return {"problem": str(error), "texts": {}, "left_out": []}
    texts = {cell.name: cell.text for cell in cells}
    if prose:
        texts[os.path.abspath(path)] = prose
    return {"problem": None, "texts": texts, "left_out": left_out}


def _adapt(cell: NotebookCell) -> Tuple[str, List[str]]:
    """The cell without the lines that install packages, since it is this environment that is
    reported on; and those lines.

    A cell that is timed loses that as well: IPython compiles such a one where no source can be
    found again.
    """
    if _is_python(cell.text):
        return cell.text, []
    lines, left_out = cell.text.split("\n"), []
    if re.match(r"%%time(it)?\b", lines[0]):
        match = _TIMED.match(" " + lines[0].partition(" ")[2])
        lines[0] = match.group(1) if match else ""
    is_continued = False
    for index, line in enumerate(lines):
        if is_continued:
            lines[index] = ""
        elif _INSTALL.match(line):
            left_out.append("cell {}, line {}: {}".format(cell.number, index + 1, line.strip()))
            lines[index] = _indent(line) + "pass"
        else:
            continue
        is_continued = line.endswith("\\")
    return "\n".join(lines), left_out


def prepare(cell: NotebookCell, text: str) -> str:
    """What Python compiles for a cell.

    Raises:
        NotebookError: it has a magic that cannot be run here.
    """
    if has_ipython():
        from IPython.core.inputtransformer2 import TransformerManager

        return str(TransformerManager().transform_cell(text))
    return _without_ipython(cell, text)


def has_ipython() -> bool:
    """Whether this interpreter has IPython."""
    return importlib.util.find_spec("IPython") is not None


def _is_python(text: str) -> bool:
    try:
        compile(text, "cell", "exec", _AWAIT | ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError):
        return False
    return True


def _parse(text: str, cell: NotebookCell) -> None:
    try:
        compile(text, cell.name, "exec", _AWAIT | ast.PyCF_ONLY_AST)
    except SyntaxError as error:
        raise NotebookError(
            "cell {}, line {} is not valid Python ({})".format(
                cell.number, error.lineno or 1, error.msg
            )
        ) from None
    except ValueError as error:
        raise NotebookError("cell {} is not valid Python ({})".format(cell.number, error)) from None


# -- without IPython -------------------------------------------------------------------------------


def _without_ipython(cell: NotebookCell, text: str) -> str:
    """The cell as Python, line for line.

    A magic is never valid Python, so the parser says where one stands.
    """
    lines = text.split("\n")
    if lines[0].startswith("%%"):
        lines[0] = _translate_cell_magic(cell, lines[0])
    for _ in range(len(lines)):
        try:
            compile("\n".join(lines), cell.name, "exec", _AWAIT | ast.PyCF_ONLY_AST)
            break
        except ValueError:
            break
        except SyntaxError as error:
            index = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
            changed = _translate_line_magic(cell, lines[index], index + 1)
            if changed is None:
                break  # a mistake of the author's, told by who compiles it
            lines[index] = changed
    return "\n".join(lines)


def _translate_cell_magic(cell: NotebookCell, line: str) -> str:
    name = line[2:].partition(" ")[0]
    if name == "capture":
        return ""
    raise _build_ipython_error(cell, 1, "%%" + name)


def _translate_line_magic(cell: NotebookCell, line: str, number: int) -> Optional[str]:
    """A line as Python; None if it is no magic."""
    word = line.strip()
    if word.startswith("?") or word.endswith("?"):
        return _indent(line) + "pass"
    if word.startswith("!") or re.match(r"[\w.,\s]+=\s*[!%]", word):
        raise _build_ipython_error(cell, number, word)
    if not word.startswith("%"):
        return None
    name, _, rest = word[1:].partition(" ")
    if name in _LOOKS:
        return _indent(line) + "pass"
    if name in ("time", "timeit"):
        match = _TIMED.match(" " + rest)
        return _indent(line) + (match.group(1) if match and match.group(1) else "pass")
    if name in ("env", "set_env") and re.fullmatch(r"\w+[= ][^${}]*", rest.strip()):
        variable, value = re.split("[= ]", rest.strip(), maxsplit=1)
        return "{}import os; os.environ[{!r}] = {!r}".format(_indent(line), variable, value.strip())
    if name == "cd" and rest.strip() and not re.search("[${}]", rest):
        return "{}import os; os.chdir(os.path.expanduser({!r}))".format(_indent(line), rest.strip())
    raise _build_ipython_error(cell, number, "%" + name)


def _build_ipython_error(cell: NotebookCell, number: int, what: str) -> NotebookError:
    shown = what if len(what) <= 40 else what[:37] + "..."
    return NotebookError(
        "cell {}, line {}: `{}` needs IPython, which {} does not have".format(
            cell.number, number, shown, sys.executable
        )
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


# -- running ---------------------------------------------------------------------------------------


def run(path: str, folder: str, entering: Callable[[str], None]) -> Optional[BaseException]:
    """Runs the cells in a fresh `__main__`.

    Args:
        folder: for IPython's own files.
        entering: hears of each cell before it runs, as "cell 3".

    Returns:
        The exception that ended the notebook, if its traceback was shown already.

    Raises:
        BaseException: what ends the notebook otherwise.
    """
    cells, _ = read(path)
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    step = _make_shell_step(main, folder) if has_ipython() else _make_plain_step(main)
    for cell in cells:
        if cell.skip:
            continue
        entering("cell {}".format(cell.number))
        text, _ = _adapt(cell)
        error = step(cell, text)
        if error is not None:
            return error
    return None


def _make_plain_step(
    main: types.ModuleType,
) -> Callable[[NotebookCell, str], Optional[BaseException]]:
    def step(cell: NotebookCell, text: str) -> Optional[BaseException]:
        text = prepare(cell, text)
        remember(cell.name, text)
        try:
            code = compile(text, cell.name, "exec", _AWAIT, dont_inherit=True)
            if code.co_flags & inspect.CO_COROUTINE:
                import asyncio

                asyncio.run(eval(code, main.__dict__))
            else:
                exec(code, main.__dict__)
        except Exception:  # a cell is the user's code
            if not cell.may_fail:
                raise
        return None

    return step


def remember(name: str, text: str) -> None:
    """Makes the lines of a text that is no file known to tracebacks and `inspect`."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)


def _make_shell_step(
    main: types.ModuleType, folder: str
) -> Callable[[NotebookCell, str], Optional[BaseException]]:
    from IPython.core.compilerop import CachingCompiler
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    current: List[str] = []

    class CellCompiler(CachingCompiler):  # type: ignore[misc]
        def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
            return current[-1]

    class Shell(InteractiveShell):  # type: ignore[misc]
        compiler_class = Type(CellCompiler)

        def ask_exit(self) -> None:
            raise SystemExit(0)

        def atexit_operations(self) -> None:
            """IPython's clears the namespace, which torch still holds."""

        def enable_gui(self, gui: Any = None) -> None:
            """`%matplotlib inline` asks for it; there is no window to serve."""

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    # nothing of ours in the user's home
    shell = Shell.instance(
        config=settings, user_module=main, ipython_dir=os.path.join(folder, "ipython")
    )

    def step(cell: NotebookCell, text: str) -> Optional[BaseException]:
        current.append(cell.name)
        result = shell.run_cell(text, store_history=True)
        error: Optional[BaseException] = result.error_before_exec or result.error_in_exec
        if isinstance(error, (SystemExit, KeyboardInterrupt)):
            raise error
        return None if cell.may_fail else error

    return step
