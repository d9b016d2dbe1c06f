"""The structured trace of a public repro, as torch's `TORCH_TRACE` writes it, fit to leave.

PyTorch's form asks for one first. A trace is full of this machine: paths, settings, the process
around the repro. So it is rebuilt, record by record: kinds of records that are known to hold what
torch makes of the program, paths below their package, and numbers. The leak check reads the result
like every other outgoing text.

The format is that of `torch/_logging/structured.py` and `_internal.py` (2.3 to 2.15): a line of
glog with a JSON object, then its payload with a tab before each line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reporter.core.json_values import Json
from reporter.report.public_values import read_public_commit, read_public_version

#: Characters that a trace has at most; whole records are left out from the end.
MOST = 1 << 20
_LINE = re.compile(r"([VIWEC]\d{4} [\d:.]+) \d+ (\S+\]) (\{.*\})$")
#: Records of which torch and the repro alone are the source.
_RECORDS = frozenset(
    "aot_backward_graph aot_forward_graph aot_inference_graph aot_joint_graph chromium_event"
    " compilation_metrics describe_source describe_storage describe_tensor dynamo_cpp_guards_str"
    " dynamo_guards dynamo_output_graph dynamo_start inductor_output_code inductor_post_grad_graph"
    " inductor_pre_grad_graph str".split()
)
_ARTIFACTS = re.compile(
    r"(?:before|after)_\w+_graph|\w*_graph|dynamo_graph_break_reason|recompile_reasons"
    r"|aot_\w+_fw_metadata|torch_version|dynamo_error|inductor_provenance\w*"
)
#: What every record may say about where in the compilation it belongs.
_COMMON = ("frame_id", "frame_compile_id", "attempt", "rank")
_PATH = re.compile(r"(?<![\w.])(?:/[\w.+@=-]+){2,}")
_SITE = "/site-packages/"


def rebuild_trace(folder: Path) -> str:
    """The trace that torch wrote to a folder, rebuilt; empty where there is none.

    Args:
        folder: what `TORCH_TRACE` was set to.
    """
    written: list[str] = []
    size = 0
    for path in sorted(folder.glob("*.log")):
        for record in _list_records(path.read_text(encoding="utf-8", errors="replace")):
            size += len(record)
            if size > MOST:
                return "".join(written)
            written.append(record)
    return "".join(written)


def find_checksums(trace: str) -> tuple[str, ...]:
    """Those of the payloads of a rebuilt trace, which look like credentials and are none."""
    return tuple(re.findall(r'"has_payload": "([0-9a-f]{32})"', trace))


def _list_records(text: str) -> Iterator[str]:
    """Each record that may leave, with its payload."""
    own: set[int] = set()
    for part in re.split(r"^(?=[VIWEC]\d{4} )", text, flags=re.MULTILINE):
        head, _, rest = part.partition("\n")
        found = _LINE.match(head)
        if found is None:
            continue
        try:
            record = json.loads(found.group(3))
        except ValueError:
            continue
        kept = _rebuild_record(record, own)
        if kept is None:
            continue
        payload = "\n".join(line.removeprefix("\t") for line in rest.splitlines())
        if "has_payload" in record and payload:
            is_version = _read_artifact_name(record) == "torch_version"
            payload = _rebuild_version(payload) if is_version else _strip_places(payload)
            kept["has_payload"] = hashlib.md5(payload.encode()).hexdigest()
            payload = "".join(f"\t{line}\n" for line in payload.split("\n"))
        else:
            payload = ""
        place = _strip_places(found.group(2))
        yield f"{found.group(1)} 0 {place} {json.dumps(kept)}\n{payload}"


def _rebuild_record(record: Mapping[str, Any], own: set[int]) -> Json | None:
    """The record without what is about this machine; None where nothing of it may leave.

    Args:
        own: numbers of the files that may be named, which `str` records add to.
    """
    name = next((key for key in record if key in _RECORDS or key == "artifact"), None)
    if name is None:
        return None
    kept: Json = {name: record[name]}
    kept.update({key: record[key] for key in _COMMON if key in record})
    if name == "artifact":
        return kept if _ARTIFACTS.fullmatch(str(record[name].get("name"))) else None
    if name == "str":
        path, number = record[name]
        if not _is_public(str(path)):
            return None
        own.add(number)
        return {name: [_strip_places(str(path)), number]}
    if name == "dynamo_start":
        stack = record[name].get("stack") or ()
        frames = [frame for frame in stack if frame.get("filename") in own]
        return {**kept, name: {"stack": frames}}
    if name == "compilation_metrics":
        numbers = {key: value for key, value in record[name].items() if _is_number(value)}
        names = {key: record[name].get(key) for key in ("compile_id", "co_name")}
        return {**kept, name: {**names, **numbers}}
    if name == "inductor_output_code":
        return {**kept, name: {}}
    return kept


def _rebuild_version(payload: str) -> str:
    """The version of torch that a trace begins with, of public values; 2.3 to 2.5 write a text."""
    try:
        told = json.loads(payload)
    except ValueError:
        return read_public_version(payload.strip())
    given = told if isinstance(told, dict) else {}
    commit = read_public_commit(given.get("commit"))
    version = read_public_version(given.get("pytorch_version"), git=commit)
    return json.dumps({"pytorch_version": version, "commit": commit}, indent=0)


def _read_artifact_name(record: Mapping[str, object]) -> str:
    """The name of an artifact; empty for another record."""
    artifact = record.get("artifact")
    return str(artifact.get("name")) if isinstance(artifact, dict) else ""


def _is_public(path: str) -> bool:
    """Whether a file is torch's or the repro."""
    return f"{_SITE}torch/" in path or path.endswith("/repro.py")


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _strip_places(text: str) -> str:
    """Paths below the folder of packages, and bare names of other files."""

    def shorten(found: re.Match[str]) -> str:
        path = found.group()
        return path.rpartition(_SITE)[2] if _SITE in path else path.rpartition("/")[2]

    return _PATH.sub(shorten, text)
