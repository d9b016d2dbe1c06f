"""What a verdict means and what to do with it, in plain words, and the command that repeats its
measurement.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from collectors.protocol.repro_words import Property
from reporter.core.answer import Answer
from reporter.core.kinds import CRASHES, Compiler, Differentiation, Kind, Layer
from reporter.core.settings import ProgramOptions
from reporter.diagnose.rungs import RUNGS
from reporter.diagnose.stacks import is_raised_by_exported, is_raised_while_running
from reporter.report.captured_call import CapturedCall, CapturedVerdict
from templates.facts import PROPERTY_NAMES
from templates.summaries import (
    AOTI_SUMMARIES,
    CACHE_SUMMARY,
    EAGER_SUMMARIES,
    EFFECT_SUMMARY,
    EXPORT_SUMMARIES,
    EXPORTED_CALL_SUMMARY,
    RUNNING_SUMMARY,
    STATED_LIMIT,
    SUMMARIES,
    TANGENT_SUMMARY,
)

#: By kind: what it means, then what to do.
EXPLANATIONS: Mapping[Kind, str] = {
    Kind.CRASH: (
        "The same call on the same inputs runs in eager mode, so the program is valid and the"
        " compiler fails on it."
    ),
    Kind.CRASH_ON_RECOMPILE: (
        "The first call compiles and runs; compiling again for another shape or value fails,"
        " though the same call compiled by itself does not. What becomes dynamic then is at fault,"
        " not this call."
    ),
    Kind.WRONG_RESULT: (
        "Eager mode agrees with itself, and the compiled result is farther from it, and from"
        " float64 where the program runs in it, than rounding explains. No error tells you; do not"
        " trust what was trained or served with it."
    ),
    Kind.WRONG_GRADIENT: (
        "The forward pass agrees; given the same gradients of its outputs, the compiled backward"
        " pass returns others than eager's, or, in forward mode, the call returns other tangents."
        " Training with it goes wrong without an error."
    ),
    Kind.WRONG_METADATA: (
        "A property of a result (shape, dtype, stride, aliasing, requires_grad), or what the call"
        " leaves in Python's state, is another than in eager mode, so code that relies on it breaks"
        " later."
    ),
    Kind.ACCEPTS_INVALID: (
        "Eager mode refuses these inputs with an error; the compiled call skips the check and"
        " returns something."
    ),
    Kind.PROCESS_DEATH: (
        "No Python exception reaches the program: the process is gone. Python's stack at that"
        " moment is in the report."
    ),
    Kind.HANG: (
        "Eager mode ends, the compiled call was stopped after the limit; the stack tells whether it"
        " was still compiling. If it may be merely slow, give it more time with --timeout."
    ),
    Kind.STALE_GRAPH: (
        "A graph that was compiled for earlier inputs is used for these, for which it does not"
        " hold: a guard is missing. Compiled afresh for these inputs it is right, or torch refuses"
        " to compile it."
    ),
    Kind.UNSUPPORTED: (
        "Torch says that it does not support this, by refusing it or in a warning; that is a limit"
        " and no fault. Write it as the hint says, or leave out `fullgraph=True`, so that Python"
        " runs that part. It is welcome as a feature request."
    ),
    Kind.RECOMPILES: (
        "No wrong tensor was seen, but the program is compiled again and again; at the limit torch"
        " goes on in eager mode, or fails if it was asked to. The guard that failed tells which"
        " argument or attribute changes."
    ),
    Kind.GRAPH_BREAK: (
        "No wrong tensor was seen, but the program is not compiled as one graph: at each break"
        " Python takes over."
    ),
    Kind.INVALID_PROGRAM: (
        "Without torch.compile the program fails too, so there is nothing to report about the"
        " compiler."
    ),
    Kind.NONDETERMINISTIC: (
        "Eager mode does not give the same result twice, so a difference to the compiled result"
        " proves nothing. Seed the random numbers, make copies of what is changed in place, and try"
        " again."
    ),
    Kind.RNG: (
        "Compiled code draws its random numbers in another order. Drawn as in eager mode, the"
        " results agree. Compare statistics, or set fallback_random for the comparison and draw no"
        " numbers that nobody uses."
    ),
    Kind.PRECISION_CAST: (
        "In half precision the compiler keeps intermediate results in float32 where eager mode"
        " rounds each one. That is more accurate and intended; emulate_precision_casts makes both"
        " round alike."
    ),
    Kind.ROUNDING: (
        "Floating-point operations in another order, or with fewer roundings between them, differ;"
        " measured against float64, where that is possible, the compiled result is off by no more"
        " than rounding can be. Compare with tolerances, as torch.testing.assert_close does."
    ),
    Kind.ILL_CONDITIONED: (
        "The program magnifies rounding: moving the inputs by one unit in the last place, or adding"
        " up in another order, of which torch promises none, moves eager's own result as far as the"
        " compiled result is off. Which of the two is nearer to the exact one is chance."
    ),
    Kind.UNDEFINED_VALUE: (
        "The result depends on what C++ or torch leave undefined: a float cast to an integer type"
        " whose range it is outside of, or two values written to one place. Both answers are"
        " allowed; clamp before the cast, name each place once."
    ),
    Kind.UNINITIALIZED_MEMORY: (
        "The program reads memory that it never wrote (torch.empty and its kin), so results depend"
        " on what was there before. Initialize it."
    ),
    Kind.NOT_REPRODUCED: (
        "In this run each compiled call that was compared returned, and did to tensors, what eager"
        " mode does with the same inputs, apart from rounding."
    ),
    Kind.OUTSIDE: (
        "Nothing is claimed of torch: run bugreport on what the other process runs, or have that"
        " process watch itself."
    ),
}


#: The same where a layer makes it mean something else.
_IN_LAYER: Mapping[tuple[Kind, Layer], str] = {
    (Kind.CRASH, Layer.EAGER): (
        "An internal assertion guards what torch itself has to keep, so that no program should"
        " reach it, nor anything that torch says of a program and that is not so: wrong arguments"
        " are to be refused with an error of their own."
    ),
    (Kind.WRONG_RESULT, Layer.EAGER): (
        "The operator's result is farther from that in float64, or on the whole of its DTensors,"
        " than its dtype explains; no compiler is involved."
    ),
    (Kind.WRONG_GRADIENT, Layer.EAGER): (
        "What torch computes for the derivative is not what the values do between neighboring"
        " inputs; no compiler is involved."
    ),
    (Kind.PROCESS_DEATH, Layer.EAGER): (
        "No program that calls torch's functions should end like this; wrong arguments are to be"
        " refused with an exception."
    ),
    (Kind.INVALID_PROGRAM, Layer.NONE): (
        "The compiler believes what an operator that the program registers says of itself, its"
        " schema and its fake kernel, and that is wrong. torch.library.opcheck tests such an"
        " operator without the compiler."
    ),
    (Kind.INVALID_PROGRAM, Layer.EXPORT): (
        "The module is right as it is, and so is torch: what it cannot export in that way it"
        " refuses, and says what it needs. Which graph it makes of a module it does not promise."
    ),
    (Kind.UNSUPPORTED, Layer.NONE): (
        "Export promises no more: the program holds what it met. Export again after such a change,"
        " or hand in what changes as an argument or a buffer."
    ),
    (Kind.UNSUPPORTED, Layer.AOT_AUTOGRAD): (
        "Torch refuses what it does not support, and says so; that is a limit and no fault. What"
        " needs it, such as a second derivative, can call the function without the compiler."
    ),
    (Kind.UNSUPPORTED, Layer.INDUCTOR): (
        "A CUDA graph writes its outputs to the same memory in each run, and torch says so. Clone"
        " what is needed after the next run, or call torch.compiler.cudagraph_mark_step_begin()"
        " before each one."
    ),
    (Kind.UNSUPPORTED, Layer.EXPORT): (
        "Torch refuses what it does not support, and says so; that is a limit and no fault."
        " torch.export.draft_export lists all such places of a module at once."
    ),
}


#: Of code that the compiler's cache gives for other inputs.
_FROM_CACHE = (
    "The call is compiled, so no guard is missing: what the cache finds for it was compiled for"
    " other inputs. With `TORCHINDUCTOR_FORCE_DISABLE_CACHES=1` it is right, and slower to compile."
)
#: Of a failure that the script's own call showed, and no repetition of it.
_SHOWN_ONCE = (
    "The script's own call is made again on copies of its inputs, and none of these calls shows it."
    " What other threads do, or what is in memory that nothing wrote, is not the same twice."
)


def explain_verdict(verdict: CapturedVerdict) -> str:
    """A few sentences for a person who has never read the compiler's source."""
    kind = verdict.reported_kind
    if verdict.is_from_cache:
        return _FROM_CACHE
    if kind == Kind.NOT_REPRODUCED and verdict.reproduced[0]:
        return _SHOWN_ONCE
    return _IN_LAYER.get((kind, verdict.layer)) or EXPLANATIONS[kind]


def write_command(options: ProgramOptions, cited: tuple[str, ...]) -> str:
    """The shell command that runs the script once more and measures the cited rungs again.

    Args:
        options: the script, its arguments and its interpreter.
        cited: names of rungs. The script's own backend has none in `RUNGS`; it is measured anyhow.

    Returns:
        One line; empty where the program was not started by us.
    """
    if options.attach is not None:
        return ""
    words = ["bugreport", "diagnose"]
    if options.python is not None:
        words += ["--python", str(options.python)]
    named = [name for name in dict.fromkeys(cited) if name in RUNGS]
    if named:
        words += ["--rungs", ",".join(named)]
    words += ["-m", options.module] if options.module else [str(options.script)]
    return shlex.join([*words, *options.args])


#: Sentences of their own, by what makes the callable.
_SUMMARIES_OF: Mapping[Compiler, Mapping[Kind, str]] = {
    Compiler.EXPORT: EXPORT_SUMMARIES,
    Compiler.AOTI: AOTI_SUMMARIES,
    Compiler.EAGER: EAGER_SUMMARIES,
}


def write_public_summary(
    captured: CapturedCall, cold: Sequence[Answer], compiler: Compiler = Compiler.COMPILE
) -> str:
    """The verdict in one sentence that holds nothing measured on the private program.

    Args:
        cold: what fresh processes showed of the final text.
        compiler: what makes the callable of the repro.
    """
    shown = next((answer.failure for answer in cold if answer.failure), None)
    failure = shown if captured.verdict.kind in CRASHES else captured.verdict.failure
    signature = captured.verdict.signature
    differs = signature.property if signature else "metadata"
    values = {
        "exception": failure["exception"] if failure else None,
        "property": PROPERTY_NAMES.get(str(differs), differs),
        "signal": next((answer.signal for answer in cold if answer.signal), "a signal"),
    }
    if captured.verdict.is_from_cache:
        return CACHE_SUMMARY
    if captured.verdict.kind == Kind.WRONG_METADATA and differs == Property.SIDE_EFFECT:
        return EFFECT_SUMMARY
    assertion = captured.material.assertion
    is_gradient = captured.verdict.kind == Kind.WRONG_GRADIENT
    if is_gradient and assertion and assertion.backward == Differentiation.TANGENTS:
        return TANGENT_SUMMARY
    if captured.verdict.is_request and failure is not None:
        return STATED_LIMIT.format(failure["first_line"].rstrip("."))
    if captured.verdict.kind == Kind.CRASH:
        if compiler == Compiler.COMPILE and is_raised_while_running(failure):
            return RUNNING_SUMMARY.format(**values)
        if compiler == Compiler.EXPORT and is_raised_by_exported(failure):
            return EXPORTED_CALL_SUMMARY.format(**values)
    patterns = {**SUMMARIES, **_SUMMARIES_OF.get(compiler, {})}
    return patterns[captured.verdict.kind].format(**values)
