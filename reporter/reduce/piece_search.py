"""The cheapest way into a large graph: try small pieces of it before the whole.

The pieces that the failure itself names come first, then every different operation alone,
operations with what feeds them, and the model's blocks. Many pieces share one candidate, so a graph
of any size is decided by a few small programs; what is found shows the same signature or it is not
found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from anonymizer.graph.ir import Graph
from anonymizer.harness.main import find_named_output
from collectors.protocol.failure import Failure
from reporter.core import delta_debugging
from reporter.core.candidate import Candidate
from reporter.core.kinds import Kind
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.pieces import BEFORE_CONES, list_piece_levels, merge_pieces

#: Smaller graphs are as quickly reduced from the whole.
_LEAST = 5
#: A graph that is compiled about as fast as its pieces together.
_SMALL = 100
#: In how many programs the pieces of a level are asked: a constant, so that the answer is the same
#: for any number of jobs.
_GROUPS = 4
#: Candidates that one level may cost where pieces spoil each other (eager refuses one of them).
_PATIENCE = 24
#: The most words of an operator's name that are looked for in a kernel's.
_WORDS = 6
_OVERLOAD = re.compile(r"\b(?:aten|prims|torch|nn\.functional|F)\.(\w+)")
_LOWERED = re.compile(r"(?:lowering|decomp\w*|refs/\w+|meta_registrations|kernel/\w+)\.py$")


def find_named_operators(failure: Failure | None) -> frozenset[str]:
    """Operators that a failure names: in its message, as functions of torch's lowerings and
    decompositions, or in the name of a kernel that the C++ compiler refused.
    """
    if not failure:
        return frozenset()
    text = f"{failure.get('message', '')}\n{failure.get('first_line', '')}"
    words = set(_OVERLOAD.findall(text))
    for frame in failure.get("frames", ()):
        if _LOWERED.search(str(frame.get("file", ""))):
            words.add(str(frame.get("function", "")))
    for kernel in failure.get("kernels", ()):
        words.update(_list_operators(str(kernel)))
    return frozenset(word.strip("_") for word in words)


def _list_operators(kernel: str) -> Iterator[str]:
    """What may be operators in `cpp_fused_add_native_layer_norm_3`: nothing tells where one ends,
    so every run of its words.
    """
    parts = kernel.split("_")[2:]
    for start in range(len(parts)):
        for end in range(start + 1, min(len(parts), start + _WORDS) + 1):
            yield "_".join(parts[start:end])


class PieceSearch:
    """The first piece of a graph that shows the failure alone, or None.

    `make` turns a piece into a candidate. At most a few dozen candidates are asked, most of them of
    a few operations. `others` is the program in other ways, such as with other sizes dynamic:
    where there are any, it is first asked whether this way shows the failure at all.
    `wrong_outputs` are the positions of those of the call's outputs that are wrong.
    """

    def __init__(
        self,
        ask: Questions,
        make: Callable[[Graph], Candidate],
        others: Sequence[Candidate] = (),
        wrong_outputs: Collection[int] = (),
    ) -> None:
        self.ask = ask
        self.make = make
        self.others = others
        self.wrong_outputs = wrong_outputs
        self.patience = _PATIENCE

    def find(self, graph: Graph, failure: Failure | None) -> Candidate | None:
        """The smallest piece that shows the failure: level by level, the smallest pieces first.

        Args:
            graph: the whole one.
            failure: as the whole one shows it; what it names as an operator is tried first.

        Returns:
            None where no piece shows it, or it is not worth looking for one.
        """
        if graph.statements < _LEAST or self.others and self._is_hopeless(graph):
            return None
        named = find_named_operators(failure)
        for number, level in enumerate(list_piece_levels(graph, named, self.wrong_outputs)):
            if number == BEFORE_CONES and self._is_hopeless(graph):
                return None
            self.patience = _PATIENCE
            found = self._search(list(_split_growing(level, _GROUPS))) if level else None
            narrowed = self._narrow(*found) if found is not None else None
            if narrowed is not None:
                return narrowed
        return None

    def _is_hopeless(self, graph: Graph) -> bool:
        """Whether no piece can show a crash, since the whole, which is not large, shows none. Wrong
        values of a piece may be lost in the whole.
        """
        whole = self.make(graph)
        if whole.assertion.kind != Kind.CRASH or graph.statements > _SMALL:
            return False
        return not self.ask.holds(whole, self.others) and self.ask.has_passed(whole)

    def _search(self, groups: Sequence[list[Graph]]) -> tuple[list[Graph], Candidate] | None:
        """The first group of pieces that shows the failure, with its candidate; a group that cannot
        be judged is asked in parts.
        """
        made = [self._make_batch(group) for group in groups]
        self.patience -= len(groups)
        found = self.ask.pick(zip(groups, made))
        if found is not None:
            return found
        for group, item in zip(groups, made):
            if len(group) > 1 and self.patience > 0 and not self.ask.has_passed(item):
                deeper = self._search(list(_split_groups(group, _GROUPS)))
                if deeper is not None:
                    return deeper
        return None

    def _make_batch(self, pieces: Sequence[Graph]) -> Candidate:
        """The pieces in one candidate, which says whose output is wrong where there are several."""
        made = self.make(merge_pieces(pieces))
        return made.with_assertion(names_output=True) if len(pieces) > 1 else made

    def _narrow(self, pieces: list[Graph], shown: Candidate) -> Candidate | None:
        """As few of the pieces as show it together: one, as a rule; `shown` is all of them."""
        while len(pieces) > 1:
            halves = list(_split_groups(pieces, 2))
            blamed = self._list_blamed(pieces, shown)
            found = self._pick([*([blamed] if blamed else []), *halves])
            if found is None:
                pieces = delta_debugging.minimize_list(pieces, self._find_index)
                break
            _, pieces, shown = found
        made = self.make(merge_pieces(pieces))
        # several were asked with a message that names the output
        return made if len(pieces) == 1 or self.ask.holds(made) else None

    def _list_blamed(self, pieces: Sequence[Graph], shown: Candidate) -> list[Graph]:
        """Those of the pieces that the failure of all together names: by the number of the output,
        or by operators; none where it names none, or all.
        """
        answer = self.ask.find_answer(shown)
        failure = answer.failure if answer is not None else None
        if failure is None:
            return []
        number = find_named_output(failure["message"])
        if number is not None and _compares_parameters(pieces, shown):
            return []  # the parameters of all pieces come before the other inputs
        if number is not None:
            owners = [piece for piece in pieces for _ in _list_compared(piece, shown)]
            return owners[number : number + 1]
        named = find_named_operators(failure)
        blamed = [
            piece for piece in pieces if any(node.plain_operator in named for node in piece.nodes)
        ]
        return blamed if len(blamed) < len(pieces) else []

    def _find_index(self, options: Sequence[list[Graph]]) -> int | None:
        found = self._pick(options)
        return found[0] if found is not None else None

    def _pick(self, options: Sequence[list[Graph]]) -> tuple[int, list[Graph], Candidate] | None:
        found = self.ask.pick(
            (at, self._make_batch(option) if option else None) for at, option in enumerate(options)
        )
        return (found[0], options[found[0]], found[1]) if found is not None else None


def _compares_parameters(pieces: Sequence[Graph], shown: Candidate) -> bool:
    is_of_gradients = shown.assertion.kind == Kind.WRONG_GRADIENT
    return is_of_gradients and any(
        item.kind != "input" for piece in pieces for item in piece.inputs
    )


def _list_compared(piece: Graph, shown: Candidate) -> list[str]:
    """What of a piece a candidate compares, in the order of the harness: its outputs, or the inputs
    that have gradients.
    """
    if shown.assertion.kind == Kind.WRONG_GRADIENT:
        return [item.name for item in piece.inputs if item.meta.requires_grad]
    return [ref.name for ref in piece.outputs]


def _split_growing(pieces: Sequence[Graph], count: int) -> Iterator[list[Graph]]:
    """Groups of 1, 2, 3, … parts of the pieces: what is suspicious comes first, in a small one."""
    parts = count * (count + 1) / 2
    ends = [round(len(pieces) * n * (n + 1) / 2 / parts) for n in range(1, count + 1)]
    for start, end in zip([0, *ends], ends):
        if start < end:
            yield list(pieces[start:end])


def _split_groups(pieces: Sequence[Graph], count: int) -> Iterator[list[Graph]]:
    size = max(1, -(-len(pieces) // count))
    for start in range(0, len(pieces), size):
        yield list(pieces[start : start + size])
