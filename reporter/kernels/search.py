"""What the compiler says of candidates for the smallest kernel, and how far the search is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from collectors.protocol.kernels import KernelsAnswer, KernelSpec, TargetAnswer
from collectors.protocol.words import KernelOutcome
from reporter.core.formatting import count_lines
from reporter.core.progress import Progress
from reporter.kernels.reduce import KernelCandidate
from reporter.kernels.verdict import is_same_failure

#: Asks the target about Triton kernels.
Ask = Callable[[KernelSpec], KernelsAnswer]


class KernelSearch:
    """Tells which kernels still fail as `wanted`, for the same target.

    Attributes:
        tried: how many kernels were compiled.
        history: (kernels tried, statements, lines), each time the kernel got smaller.
    """

    def __init__(self, ask: Ask, wanted: TargetAnswer, progress: Progress) -> None:
        self.tried = 0
        self.history: list[tuple[int, int, int]] = []
        self._ask = ask
        self._wanted = wanted
        self._progress = progress

    def attempt(self, kernels: Sequence[KernelCandidate]) -> list[bool]:
        """Whether each kernel still fails for the target in the same way."""
        self.tried += len(kernels)
        answers = ask_target(self._ask, kernels, self._wanted["target"])
        fails = [is_same_failure(self._wanted, answer) for answer in answers]
        for kernel, does_fail in zip(kernels, fails):
            if does_fail:
                self._note(kernel)
        return fails

    def _note(self, kernel: KernelCandidate) -> None:
        """Notes a kernel that fails, if it is the smallest so far."""
        if not self.history or kernel.statements < self.history[-1][1]:
            self.history.append((self.tried, kernel.statements, count_lines(kernel.text)))
            self._progress.update(self.tried, f"{kernel.statements} statements")


def ask_target(ask: Ask, kernels: Sequence[KernelCandidate], target: str) -> list[TargetAnswer]:
    """What the compiler says of each kernel for one target.

    Args:
        ask: hands a question to a fresh process.
        kernels: at least one; all of them have the name of the first.
        target: such as `cuda:90`.

    Returns:
        An answer for each kernel, in order; `BROKEN` for those that the process did not come to.
    """
    head = "import triton\nimport triton.language as tl\n\n"
    spec: KernelSpec = {
        "what": "candidates",
        "kernel": kernels[0].name,
        "texts": [head + kernel.text for kernel in kernels],
        "launches": [kernel.launch for kernel in kernels],
        "target": target,
    }
    answers = ask(spec).get("answers", [])
    missing = len(kernels) - len(answers)
    return answers + [TargetAnswer(outcome=KernelOutcome.BROKEN, message="")] * missing
