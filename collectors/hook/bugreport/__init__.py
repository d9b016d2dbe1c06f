"""Asks the tool `bugreport` for a report from within a running program; needs nothing but Python
and torch.

    import bugreport                      # before torch.compile is called

    with bugreport.capture():             # a verdict and a report on what this block compiles
        loss = model(batch)
        loss.backward()

    bugreport.watch(every=100)            # a long run: compare every 100th call, report without
    stopping

`bugreport hook` prints the folder to put on PYTHONPATH. The tool itself stays in an environment of
its own; it is found on PATH, or by the variable BUGREPORT_COMMAND. `pytest -p bugreport.pytest`
does the same for tests.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Optional

from .loading import load_attach, must_stand_aside

__all__ = ["capture", "watch"]

_attach = load_attach()


def _say(text: str) -> None:
    if text:
        sys.stderr.write(text)
        sys.stderr.flush()


def _say_line(text: str) -> None:
    _say("bugreport: {}\n".format(text))


def _find_free_path(name: str) -> str:
    path, number = os.path.abspath(name), 1
    while os.path.lexists(path):
        number += 1
        path = os.path.abspath("{}-{}".format(name, number))
    return path


def _with_output(verb: str, options: Any) -> Any:
    """The options with -o, and the folder it names; None for a verb that writes nothing."""
    words = [os.fspath(word) for word in options]
    if verb == "diagnose":
        return words, None
    for index, word in enumerate(words):
        if word in ("-o", "--output") and index + 1 < len(words):
            return words, os.path.abspath(words[index + 1])
        if word.startswith("--output="):
            return words, os.path.abspath(word.partition("=")[2])
    folder = _find_free_path("bugreport-report")
    return [*words, "-o", folder], folder


class capture:
    """`with bugreport.capture():` watches the compiled calls of the block, then makes the report
    and waits for it.

    Args:
        options: of `bugreport create`, as on the command line: `capture("-o", "report", "--jobs",
            "2")`.
        verb: `create`, `diagnose` (the verdict alone) or `anonymize`.

    Afterwards `exit_code` is that of the command (0: a report, or a bug named; 1: no bug),
    `verdict` the part of its JSON document of that name, and `report` the folder if one was
    written. What the block raises goes on its way.

    Raises:
        RuntimeError: on entering, if the tool cannot be found or refuses its options.
    """

    def __init__(self, *options: Any, verb: str = "create") -> None:
        if verb not in ("create", "diagnose", "anonymize"):
            raise ValueError("verb must be create, diagnose or anonymize, not {!r}".format(verb))
        self._options = options
        self._verb = verb
        self._run: Any = None
        self._folder: Optional[str] = None
        self.exit_code: Optional[int] = None
        self.verdict: Optional[Dict[str, Any]] = None
        self.report: Optional[str] = None

    def __enter__(self) -> capture:
        if must_stand_aside():
            return self  # an outer block, or the command itself, sees these calls
        options, self._folder = _with_output(self._verb, self._options)
        self._run = _attach.WatchedRegion(
            _attach.Host(self._verb, options), "capture", check_first=64
        )
        self._run.start()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        if isinstance(error, KeyboardInterrupt):
            _attach.ensure_switch().active = None
            run.host.stop()
            run.host.remove()
            return
        run.end(error)
        if not run.recorder.calls:
            _say_line(
                "the block called nothing compiled that is known here; import bugreport before"
                " torch.compile is called"
            )
        try:
            self.exit_code = run.host.wait(_say)
            document = run.host.read_result()
            self.verdict = document.get("verdict")
            if self.exit_code == 0 and self._folder is not None:
                self.report = self._folder
        finally:
            run.host.remove()


def watch(*options: Any, every: int = 100) -> None:
    """Compares every `every`-th call of each compiled callable with eager until one differs; then
    reports, beside the program.

    A call that raises is looked at too, whenever it is. The program goes on meanwhile: it never
    waits longer than two minutes for a comparison, and what goes wrong here is a line on stderr and
    the end of the watching, never an exception. Watching ends with the first finding. Beside the
    program there is the idle tool, and, while a call is compared, one copy of what the program
    changes meanwhile and what the call itself needs. Of several ranks none is watched.

    Args:
        options: of `bugreport create`, as on the command line.
        every: how many calls are made for one comparison.
    """
    try:
        if must_stand_aside():
            return
        if int(every) < 1:
            raise ValueError("every must be at least 1")
        _attach.BackgroundWatch(options, int(every), _with_output, _say_line).start()
    except Exception as error:  # the program must not fail by being watched
        _say_line("not watching, {}".format(error))
