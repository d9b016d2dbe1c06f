"""Whose fault a kernel's failure is: the interpreter shares no code with the compiler, and targets
none with each other.

Refused by the front end: the author's. Wrong under the interpreter: the author's. Failing in a pass
behind the front end, in LLVM or in the assembler: the compiler's, unless it is the author's own
assembly that is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collectors.protocol.kernels import KernelLaunch, KernelsAnswer, TargetAnswer
from collectors.protocol.words import KernelOutcome
from reporter.core.kinds import Kind, RungOutcome

_KINDS: Mapping[KernelOutcome, Kind] = {
    KernelOutcome.RAISES: Kind.CRASH,
    KernelOutcome.DIED: Kind.PROCESS_DEATH,
}
_ASSEMBLER = ("PTXASError", "invalid instruction", "ptxas")


@dataclass(frozen=True)
class KernelVerdict:
    """`kind` and `is_bug` as everywhere; `launch` and `answer` are what shows it, where one kernel
    on one target does.
    """

    kind: Kind
    is_bug: bool
    summary: str
    launch: KernelLaunch | None = None
    answer: TargetAnswer | None = None


def judge(interpreted: KernelsAnswer, compiled: KernelsAnswer, source: str) -> KernelVerdict:
    """The verdict on a script.

    What does not compile is judged first, in the order of the launches; values only where nothing
    failed, was refused or took too long.

    Args:
        interpreted: its run under Triton's interpreter.
        compiled: the cross-compilation of its launches.
        source: the text of the script, which tells whether inline assembly is the user's own.
    """
    answers = [(row, item) for row in compiled.get("launches", ()) for item in row["targets"]]
    broken = next(((row, item) for row, item in answers if item["outcome"] in _KINDS), None)
    if broken is not None:
        row, item = broken
        if "inline_asm" in source and any(
            word in f"{item['exception']} {item['log']}" for word in _ASSEMBLER
        ):
            text = (
                f"The assembler refuses the kernel's own inline assembly for {item['target']}:"
                f" {item['message']}."
            )
            return KernelVerdict(Kind.INVALID_PROGRAM, False, text, row, item)
        return KernelVerdict(_KINDS[item["outcome"]], True, _describe_failure(row, item), row, item)
    refused = next(
        ((row, item) for row, item in answers if item["outcome"] == KernelOutcome.REFUSED), None
    )
    if refused is not None:
        row, item = refused
        where = [
            other["target"] for other in row["targets"] if other["outcome"] == KernelOutcome.REFUSED
        ]
        fine = [other["target"] for other in row["targets"] if other["outcome"] == KernelOutcome.OK]
        only = f" for {', '.join(where)}, but not for {', '.join(fine)}" if fine else ""
        text = f"Triton refuses the kernel `{row['kernel']}`{only}: {item['message']}."
        return KernelVerdict(Kind.INVALID_PROGRAM, False, text, row, item)
    late = [item["target"] for _, item in answers if item["outcome"] == KernelOutcome.TIMEOUT]
    if late:  # large kernels legitimately take minutes
        text = (
            f"Compiling for {', '.join(dict.fromkeys(late))} did not end within its limit, so"
            " nothing can be said about it."
        )
        return KernelVerdict(Kind.NOT_REPRODUCED, False, text)
    return _judge_values(interpreted, _describe_compiled(compiled))


def _describe_failure(row: KernelLaunch, item: TargetAnswer) -> str:
    fine = [other["target"] for other in row["targets"] if other["outcome"] == KernelOutcome.OK]
    if item["outcome"] == KernelOutcome.DIED:
        how = f"dies with {item['signal']}" + (f": {item['message']}" if item["message"] else "")
    else:
        how = f"fails with {item['exception']}: {item['message']}"
    location = f" in the pass {item['pass']}" if item["pass"] else ""
    rest = f"; it compiles for {', '.join(fine)}" if fine else ""
    return f"Compiling the kernel for {item['target']} {how}{location}{rest}."


def _describe_compiled(compiled: KernelsAnswer) -> str:
    """For which targets each kernel compiles, where none of them failed."""
    launches = compiled.get("launches", [])
    names = dict.fromkeys(item["target"] for row in launches for item in row["targets"])
    told = f"compiles for {', '.join(names)}" if names else "was not compiled"
    left = [row for row in launches if "unknown" in row]
    if not left:
        return told
    given = ", ".join(f"`{row['kernel']}` takes {row['unknown']}" for row in left)
    return f"{told} ({given}, which only a launch compiles)"


def _judge_values(interpreted: KernelsAnswer, where: str) -> KernelVerdict:
    ending = interpreted.get("ending")
    if ending is None:
        reason = interpreted.get("skipped", "it was not run")
        text = f"Each kernel {where}; its values could not be judged: {reason}."
        return KernelVerdict(Kind.NOT_REPRODUCED, False, text)
    if ending["exit"]:
        error = (
            f"{ending.get('exception', 'exit code ' + str(ending['exit']))}:"
            f" {ending.get('message', '')}".rstrip(": ")
        )
        if "NotImplementedError" in error:
            text = (
                f"Each kernel {where}; the interpreter lacks something that it needs ({error}), so"
                " its values could not be judged."
            )
            return KernelVerdict(Kind.NOT_REPRODUCED, False, text)
        text = (
            "The kernel itself is at fault: under Triton's interpreter, which shares no code with"
            f" the compiler, the script ends with {error}, too; each kernel {where}."
        )
        return KernelVerdict(Kind.INVALID_PROGRAM, False, text)
    text = (
        f"Each kernel {where}, and under the interpreter the script ends well. What only a GPU"
        " shows cannot be seen here."
    )
    return KernelVerdict(Kind.NOT_REPRODUCED, False, text)


def classify_outcome(answer: TargetAnswer) -> RungOutcome:
    """What a compilation showed, as a rung has it: a refusal is an exception like any other.

    Raises:
        ValueError: no compilation has this outcome.
    """
    word = answer["outcome"]
    return RungOutcome.RAISES if word == KernelOutcome.REFUSED else RungOutcome(word)


def is_same_failure(wanted: TargetAnswer, found: TargetAnswer) -> bool:
    """Whether two compilations fail in the same way: outcome, exception, signal, pass and the words
    of the message.
    """
    return (
        wanted["outcome"] == found["outcome"]
        and wanted.get("exception") == found.get("exception")
        and wanted.get("signal") == found.get("signal")
        and wanted.get("pass") == found.get("pass")
        and normalize_message(wanted.get("message", ""))
        == normalize_message(found.get("message", ""))
    )


def normalize_message(message: str) -> str:
    """A message without what changes with the program: numbers, quoted names, values of the IR."""
    message = re.sub(r"'[^']*'|\"[^\"]*\"|%[\w#:]+|tensor<[^>]*>|\b\d+\b", "·", message)
    return " ".join(message.split())
