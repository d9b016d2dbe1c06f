"""Which of the programs in a thread is the repro, by the receiving side's own rule, or why there is
none to run.

The latest self-contained program of the author; a strictly shorter self-contained one by a
commenter goes before it. Of several in one post the first counts, since what follows is usually a
variation of it or what the compiler made of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from reporter.triage.reading.blocks import Block, list_headings, parse_blocks
from reporter.triage.reading.code import IssueProgram, join, parse_program
from reporter.triage.reading.safety import Flag, find_flags
from reporter.triage.reading.thread import Thread

#: Headings under which forms ask for what is not the repro.
_ELSEWHERE = re.compile(
    r"^(?:error logs?|versions?|environment|minified repro|logs?|traceback|output)\b"
)
_REQUEST_TITLE = re.compile(
    r"^\W*(?:feature"
    r" request|feature|rfc|proposal|enhancement|question|discussion|docs?|tracker|tracking"
    r"|umbrella)\s*[\]:)]",  # `meta` is a device
    re.IGNORECASE,
)
_REQUEST_HEADING = re.compile(r"feature, motivation and pitch|^🚀", re.IGNORECASE)
_REQUEST_LABELS = {
    "feature": "a feature request",
    "enhancement": "a feature request",
    "function request": "a feature request",
    "tracker": "a tracking issue",
    "better-engineering": "a refactoring task",
    "module: docs": "about the documentation",
}
_PICTURE = re.compile(r"!\[[^\]\n]{0,300}\]\(|<img\b", re.IGNORECASE)
_LINK = re.compile(
    r"https?://(?:colab\.research|gist\.github|www\.kaggle|drive\.google"
    r"|github\.com/[\w.-]+/[\w.-]+/(?:blob|tree))"
)
_DEVICES = ("cuda", "xpu", "mps", "hpu", "npu", "tpu", "xla", "musa")
_QUESTION = re.compile(r"\b(?:cuda|xpu|mps|accelerator)\.is_available$")
#: Functions of `torch.cuda` that a program may call where there is no CUDA.
_WITHOUT_CUDA = ("manual_seed", "manual_seed_all", "is_available", "empty_cache")


@dataclass(frozen=True)
class Repro:
    """The program to run, who wrote it and where; `changes` were made to the text as it was
    posted.
    """

    text: str
    author: str
    post: int
    section: str
    flags: tuple[Flag, ...]
    modules: tuple[str, ...]
    changes: tuple[str, ...]
    reason: str
    others: int = 0


RefusalKind = Literal[
    "no_code",
    "no_bug_report",
    "not_self_contained",
    "needs_files",
    "needs_weights",
    "needs_data",
    "needs_hardware",
    "needs_packages",
]
#: Kinds that say something of this machine.
OF_THE_MACHINE = frozenset({"needs_hardware", "needs_packages"})


@dataclass(frozen=True)
class Refusal:
    """Why there is nothing to run: `kind` for tables, `why` the beginning of a sentence in words of
    ours, `named` the words of the issue that end it.
    """

    kind: RefusalKind
    why: str
    named: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The sentence without a full stop."""
        return f"{self.why} {', '.join(self.named)}" if self.named else self.why

    def to_json(self) -> Mapping[str, str]:
        """The entry of the document."""
        return {"kind": self.kind, "reason": self.reason}


@dataclass(frozen=True)
class _Choice:
    program: IssueProgram
    post: int
    author: str
    section: str

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """Programs that compile something before those that do not; the description before logs;
        written before generated.
        """
        program = self.program
        return (not program.generated, program.compiles, not _ELSEWHERE.search(self.section))


def extract(thread: Thread) -> Repro | Refusal:
    """The repro of a thread, or why there is none."""
    try:
        return _extract(thread)
    except RecursionError:
        return Refusal("no_code", "its code is nested too deeply to be read")


def _extract(thread: Thread) -> Repro | Refusal:
    request = _find_request(thread)
    if request is not None:
        return request
    found = [item for number in range(len(thread.posts)) for item in _find_in_post(thread, number)]
    whole = [item for item in found if item.program.self_contained]
    chosen = _choose_program(whole, thread.author)
    if chosen is None:
        return _explain_nothing(thread, found)
    needs = _find_need(chosen.program)
    if needs is not None:
        return needs
    # asked again later; a program that cannot be walked through ends here
    find_devices(chosen.program.text)
    by_author = chosen.author == thread.author
    return Repro(
        text=chosen.program.text,
        author=chosen.author,
        post=chosen.post,
        section=chosen.section,
        flags=find_flags(chosen.program.text),
        modules=chosen.program.facts.modules,
        changes=chosen.program.changes,
        reason=(
            "the author's latest self-contained program"
            if by_author
            else (
                f"a shorter self-contained program by {chosen.author}"
                if any(item.author == thread.author for item in whole)
                else f"the only self-contained program is by {chosen.author}"
            )
        ),
        others=len(whole) - 1,
    )


def _find_in_post(thread: Thread, number: int) -> list[_Choice]:
    post = thread.posts[number]
    parsed: list[tuple[Block, IssueProgram]] = []
    for block in parse_blocks(post.text):
        if block.quoted and number:
            continue  # what somebody else said before
        if block.kind == "unfenced" and any(p.self_contained for _, p in parsed):
            continue
        made = parse_program(block)
        if made is not None:
            parsed.append((block, made))
    found = [_Choice(p, number, post.author, b.section) for b, p in parsed]
    if not any(item.program.self_contained for item in found) and len(parsed) > 1:
        parts = [p for b, p in parsed if b.kind != "unfenced" and not p.generated]
        together = join(parts) if len(parts) > 1 else None
        if together is not None:
            found.append(_Choice(together, number, post.author, parsed[0][0].section))
    return found


def _choose_program(whole: list[_Choice], author: str) -> _Choice | None:
    if not whole:
        return None
    best = max(item.rank for item in whole)
    whole = [item for item in whole if item.rank == best]
    own = [item for item in whole if item.author == author]
    others = [item for item in whole if item.author != author]
    latest = max((item.post for item in own), default=None)
    chosen = next((item for item in own if item.post == latest), None)
    limit = chosen.program.facts.statements if chosen else None
    shorter = [i for i in others if limit is None or i.program.facts.statements < limit]
    return min(shorter, key=lambda item: item.program.facts.statements, default=chosen)


def _find_request(thread: Thread) -> Refusal | None:
    for label in thread.status.labels:
        if label.lower() in _REQUEST_LABELS:
            return Refusal(
                "no_bug_report", f"it is {_REQUEST_LABELS[label.lower()]} (label {label})"
            )
    if _REQUEST_TITLE.search(thread.title):
        return Refusal("no_bug_report", "its title says that it is no bug report")
    first = thread.posts[0].text if thread.posts else ""
    if any(map(_REQUEST_HEADING.search, list_headings(first))):
        return Refusal("no_bug_report", "it is written in the form for feature requests")
    return None


def _explain_nothing(thread: Thread, found: list[_Choice]) -> Refusal:
    undefined = [
        item.program.facts.undefined
        for item in found
        if item.program.facts.undefined and item.program.facts.uses_torch
    ]
    if undefined:
        return Refusal(
            "not_self_contained",
            "its code is not self-contained: nothing defines",
            undefined[-1][:5],
        )
    if any(item.program.facts.uses_torch for item in found):
        return Refusal("not_self_contained", "its code defines things, but nothing calls them")
    text = "\n".join(post.text for post in thread.posts)
    if _LINK.search(text):
        return Refusal(
            "no_code", "its code is somewhere else (a link), and nothing is fetched from there"
        )
    if _PICTURE.search(text):
        return Refusal("no_code", "its code is in a picture, if anywhere")
    return Refusal("no_code", "no repro found: there is no Python program in it that uses torch")


def _find_need(program: IssueProgram) -> Refusal | None:
    """What the program needs and no sandbox has: files, weights, data, other files of a project."""
    tree = ast.parse(program.text)
    relative = next((name for name in program.facts.modules if name.startswith(".")), None)
    if relative is not None:
        return Refusal("needs_files", "it imports from a package of its author's")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            needed = _find_missing_need(node)
            if needed is not None:
                return needed
    return None


_DOWNLOADS: Mapping[str, RefusalKind] = {
    "from_pretrained": "needs_weights",
    "hf_hub_download": "needs_weights",
    "snapshot_download": "needs_weights",
    "load_state_dict_from_url": "needs_weights",
    "load_dataset": "needs_data",
    "ImageFolder": "needs_data",
    "read_csv": "needs_data",
    "imread": "needs_data",
}


def _find_missing_need(node: ast.Call) -> Refusal | None:
    called = _read_dotted_name(node.func)
    last = node.func.attr if isinstance(node.func, ast.Attribute) else called
    first = node.args[0] if node.args else None
    if last in _DOWNLOADS:
        return _name_call(_DOWNLOADS[last], node.lineno, last)
    loads = called in ("torch.load", "torch.hub.load", "torch.jit.load")
    if loads and isinstance(first, ast.Constant):
        return _name_call("needs_weights", node.lineno, called)
    pretrained = any(
        k.arg == "pretrained" and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in node.keywords
    )
    return _name_call("needs_weights", node.lineno, called) if pretrained else None


def _name_call(kind: RefusalKind, line: int, called: str) -> Refusal:
    """What a call needs; `called` is its function, empty where that has no name."""
    why = f"it needs {'data' if kind == 'needs_data' else 'weights'} that are not in it"
    if not called:
        return Refusal(kind, f"{why} (line {line})")
    return Refusal(kind, f"{why}: line {line} calls", (called,))


def _read_dotted_name(node: ast.expr) -> str:
    """`torch.hub.load`; empty for what is more than names."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            owner = _read_dotted_name(value)
            return f"{owner}.{attr}" if owner else ""
    return ""


def find_devices(text: str) -> tuple[str, ...]:
    """The accelerators that a program cannot do without: named in one that does not ask whether
    they are there.
    """
    nodes = list(ast.walk(ast.parse(text)))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if any(_QUESTION.search(_read_dotted_name(call.func)) for call in calls):
        return ()
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = re.match(r"(\w+)(?::\d+)?$", node.value)
            if word and word[1] in _DEVICES:
                found[word[1]] = None
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in _DEVICES:
                found[method] = None
            elif _read_dotted_name(node.func.value) == "torch.cuda" and method not in _WITHOUT_CUDA:
                found["cuda"] = None
    return tuple(found)
