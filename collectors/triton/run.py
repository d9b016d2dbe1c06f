"""The questions to Triton: what does the script do under the interpreter, for which targets does
each of its kernels compile, what becomes of both for the kernels that inductor writes, and does a
candidate text still fail the same way? Each is a fresh process with a cache of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import sys
from typing import Any, Callable, Dict, List

from ..machine.files import write_json
from ..machine.internal_names import collect_internal_names
from ..protocol.kernels import KernelLaunch, KernelsAnswer, KernelSpec, ScriptEnding, TargetAnswer
from ..protocol.words import KernelOutcome, KernelQuestion
from . import inductor_kernels, interpreted_run, launches, targets


def main(arguments: List[str]) -> int:
    """`… run SPEC.json`.

    The spec is a `KernelSpec`; the answer, a `KernelsAnswer`, goes to the file that it names.
    """
    with open(arguments[0], encoding="utf-8") as source:
        spec: KernelSpec = json.load(source)
    ways: Dict[KernelQuestion, Callable[[KernelSpec], KernelsAnswer]] = {
        "interpret": _interpret,
        "compile": _compile,
        "candidates": _compile_candidates,
        "generated": _generate,
        "interpret generated": _interpret_generated,
    }
    answer = ways[spec["what"]](spec)
    write_json(spec["answer"], answer)
    return 0


def _run_script(spec: KernelSpec) -> ScriptEnding:
    """Runs the script as `__main__`, and how it ended."""
    sys.argv = [spec["script"], *spec.get("args", ())]
    sys.path.insert(0, os.path.dirname(os.path.abspath(spec["script"])))
    try:
        runpy.run_path(spec["script"], run_name="__main__")
    except SystemExit as stop:
        return {"exit": stop.code if isinstance(stop.code, int) else int(stop.code is not None)}
    except BaseException as error:  # a script is the user's code
        lines = [line for line in str(error).splitlines() if line.strip()]
        return {
            "exit": 1,
            "exception": type(error).__name__,
            "message": lines[0][:400] if lines else "",
        }
    return {"exit": 0}


def _read_version() -> KernelsAnswer:
    import triton

    return {"triton": triton.__version__}


def _interpret(spec: KernelSpec) -> KernelsAnswer:
    seen = launches.Launches()
    try:
        launches.watch_interpreted(seen)
    except (ImportError, AttributeError) as error:
        return {"skipped": "this Triton has no interpreter ({})".format(error)}
    ending = _run_script(spec)
    return {**_read_version(), "ending": ending, "launches": seen.rows}


def _compile(spec: KernelSpec) -> KernelsAnswer:
    """Compiles each launch's kernel when it is met; the script goes on with whatever its outputs
    hold.

    `missing` says that this interpreter has no Triton at all.
    """
    if importlib.util.find_spec("triton") is None:
        return {"missing": True, "skipped": "there is no Triton in this interpreter"}
    unsupported = targets.find_unusable_targets(spec["folder"])
    wanted = [name for name in targets.TARGETS if name not in unsupported]
    if not wanted:
        return {"skipped": next(iter(unsupported.values()))}
    seen = launches.Launches()
    compiled: List[List[TargetAnswer]] = []

    def compile_kernel(kernel: Any, args: Any, kwargs: Any) -> None:
        row: KernelLaunch = {**seen.rows[-1], "constexprs": seen.constants[-1]}
        possible = [] if "unknown" in row else wanted
        compiled.append([targets.compile_for(kernel, row, name) for name in possible])

    launches.watch_compiled(seen, compile_kernel)
    ending = _run_script(spec)
    rows: List[KernelLaunch] = [
        {**row, "targets": answers} for row, answers in zip(seen.rows, compiled)
    ]
    return {
        **_read_version(),
        "ending": ending,
        "launches": rows,
        "unsupported": unsupported,
        "vocabulary": collect_vocabulary(),
        "internals": collect_internal_names(("triton",)),
    }


def _generate(spec: KernelSpec) -> KernelsAnswer:
    """Has inductor write Triton code for the script, and compiles each of its kernels for every
    target.
    """
    if importlib.util.find_spec("triton") is None:
        return {"missing": True, "skipped": "there is no Triton in this interpreter"}
    seen = inductor_kernels.GeneratedKernels()
    try:
        inductor_kernels.watch(seen, inductor_kernels.LaunchNotes)
    except (ImportError, AttributeError) as error:
        return {"skipped": "no Triton code to be had ({})".format(error)}
    ending = _run_script(spec)
    if not seen.rows:
        return {**_read_version(), "ending": ending, "skipped": "inductor wrote no Triton kernel"}
    unsupported = targets.find_unusable_targets(spec["folder"])
    wanted = [name for name in targets.TARGETS if name not in unsupported]
    rows: List[KernelLaunch] = []
    for number, row in enumerate(seen.rows):
        try:
            kernel = inductor_kernels.import_kernel(row, spec["folder"], number)
            answers: List[TargetAnswer] = [
                targets.compile_for(kernel, row, name) for name in wanted
            ]
        except Exception as error:  # what Inductor wrote may not even be imported
            answers = [
                {
                    "target": name,
                    "outcome": KernelOutcome.BROKEN,
                    "message": type(error).__name__,
                    "seconds": 0.0,
                }
                for name in wanted
            ]
        rows.append({**row, "targets": answers})
    return {**_read_version(), "ending": ending, "launches": rows, "unsupported": unsupported}


def _interpret_generated(spec: KernelSpec) -> KernelsAnswer:
    """Has inductor write Triton code for the script, and Triton's interpreter run it: what its own
    assertions say then.
    """
    found = interpreted_run.InterpretedRun()
    try:
        interpreted_run.teach_library()
        inductor_kernels.watch(
            inductor_kernels.GeneratedKernels(), found.make_launcher(spec["folder"])
        )
    except (ImportError, AttributeError) as error:
        return {"skipped": "no Triton code to be had ({})".format(error)}
    return {**_read_version(), **interpreted_run.judge_ending(found, _run_script(spec))}


def collect_vocabulary() -> List[str]:
    """The names Triton's language has: its functions, their parameters, the methods of its
    tensors.
    """
    import inspect

    import triton
    import triton.language as tl

    found = set()
    for owner in (
        triton,
        tl,
        getattr(tl, "math", None),
        tl.tensor,
        tl.dtype,
        getattr(tl, "extra", None),
    ):
        for name in dir(owner) if owner is not None else ():
            if name.startswith("_"):
                continue
            found.add(name)
            value = getattr(owner, name, None)
            try:
                called: Any = getattr(value, "fn", value)
                found.update(inspect.signature(called).parameters)
            except (TypeError, ValueError):
                continue
    return sorted(found)


def _compile_candidates(spec: KernelSpec) -> KernelsAnswer:
    """Compiles the function `kernel` of each text for one target, as `launch` says."""
    targets.find_unusable_targets(spec["folder"], [spec["target"]])  # warms up
    answers: List[TargetAnswer] = []
    for number, text in enumerate(spec["texts"]):
        path = os.path.join(spec["folder"], "candidate{}.py".format(number))
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        module_spec = importlib.util.spec_from_file_location("candidate{}".format(number), path)
        assert module_spec is not None and module_spec.loader is not None
        module = importlib.util.module_from_spec(module_spec)
        try:
            module_spec.loader.exec_module(module)
            kernel = getattr(module, spec["kernel"])
        except Exception as error:  # a candidate's text may raise anything
            answers.append({"outcome": KernelOutcome.BROKEN, "message": type(error).__name__})
            continue
        answers.append(targets.compile_for(kernel, spec["launches"][number], spec["target"]))
    return {"answers": answers}
