"""Whether the two observers of a stranger's program agree: its recorder, and plain runs from
outside.

The recorder shares a process with the program. A plain run shares nothing with it: the posted bytes
start alone, with the compiler and without it, and the host sees exit code and output. A conclusion
needs both.
"""

from __future__ import annotations

from reporter.core.kinds import CRASHES, Kind, Layer
from reporter.core.signature import normalize
from reporter.triage.attempt import FAILED_BY_ITSELF, AttemptOutcome, Attempts
from reporter.triage.sandboxed_verdict import CommandVerdict

#: Layers that the variable which switches the compiler off takes out of the way.
_SWITCHED_OFF = frozenset(
    {Layer.DYNAMO, Layer.AOT_AUTOGRAD, Layer.DECOMPOSITION, Layer.INDUCTOR, Layer.BACKEND}
)


def find_disagreement(
    ran: Attempts, control: Attempts | None, judged: CommandVerdict | None
) -> str | None:
    """Why the verdict says nothing, in one sentence without a full stop; None where nothing speaks
    against it.

    Args:
        ran: the posted bytes alone, with the compiler.
        control: the same with `TORCHDYNAMO_DISABLE=1`; None where that was not run.
        judged: what `create` or `diagnose` said of the same bytes.
    """
    if judged is None or judged.kind is None:
        return None
    if judged.measured.account.reached:
        what = ", ".join(judged.measured.account.reached)
        return f"the program reaches for what records it ({what}), so its recorder proves nothing"
    return _describe_other_end(ran, judged) or _describe_other_cause(ran, control, judged)


def ends_otherwise(ran: Attempts, judged: CommandVerdict) -> bool:
    """Whether the watched run ended in a way that no plain run did."""
    plain = {attempt.exit for attempt in ran.attempts}
    return (
        judged.measured.account.exit is not None
        and None not in plain
        and judged.measured.account.exit not in plain
    )


def fails_without(ran: Attempts, control: Attempts | None) -> bool:
    """Whether the program fails in the same way without the compiler."""
    if control is None or control.decisive.outcome not in FAILED_BY_ITSELF:
        return False
    return normalize(ran.decisive.failure) == normalize(control.decisive.failure)


def _describe_other_end(ran: Attempts, judged: CommandVerdict) -> str | None:
    account = judged.measured.account
    if ends_otherwise(ran, judged):
        alone = " or ".join(sorted({_describe_end(attempt.exit) for attempt in ran.attempts}))
        beside = _describe_end(account.exit)
        return f"alone the program ends with {alone}, and beside its recorder with {beside}"
    is_exit = account.exit is not None and account.exit >= 0
    if is_exit and account.said is not None and account.said % 256 != account.exit:
        return (
            f"the program told its recorder {_describe_end(account.said)}, and ended with"
            f" {_describe_end(account.exit)}"
        )
    return None


def _describe_end(code: int | None) -> str:
    if code is None:
        return "no exit code"
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _describe_other_cause(
    ran: Attempts, control: Attempts | None, judged: CommandVerdict
) -> str | None:
    """Where the verdict blames, or excuses, the compiler against what the runs without it show."""
    if control is None or ran.decisive.outcome not in FAILED_BY_ITSELF:
        return None
    without = control.decisive.outcome
    if judged.kind == Kind.INVALID_PROGRAM and without == AttemptOutcome.PASSES:
        return (
            "its recorder says that the program fails without the compiler, too, and with"
            " TORCHDYNAMO_DISABLE=1 it passes"
        )
    crashes = judged.kind in CRASHES or judged.kind == Kind.PROCESS_DEATH
    if crashes and judged.layer in _SWITCHED_OFF and fails_without(ran, control):
        return (
            "its recorder blames the compiler, and with TORCHDYNAMO_DISABLE=1 the program fails in"
            " the same way"
        )
    return None
