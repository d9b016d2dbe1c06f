"""Cuts GitHub's own description of its API down to the operations that the tool uses: `python
trim_openapi.py FROM TO`.

FROM is `generated/api.github.com.json` of the npm package @octokit/openapi (`npm pack
@octokit/openapi`, then `tar xzf`); TO is tests/data/github_api.json. Schemas stay as they are
published; prose, foreign media types and examples that nothing uses go.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openapi_core import OpenAPI

Json = dict[str, Any]
OPERATIONS = {
    "/repos/{owner}/{repo}": ["get"],
    "/repos/{owner}/{repo}/issues": ["get", "post"],
    "/repos/{owner}/{repo}/issues/{issue_number}": ["get", "patch"],
    "/repos/{owner}/{repo}/issues/{issue_number}/comments": ["get", "post"],
    "/repos/{owner}/{repo}/issues/{issue_number}/labels": ["post"],
    "/repos/{owner}/{repo}/labels/{name}": ["get"],
    "/search/issues": ["get"],
    "/gists": ["post"],
    "/user": ["get"],
}
_PROSE = {"description", "summary", "externalDocs", "x-github", "x-octokit", "tags", "x-webhooks"}


def main(source: Path, target: Path) -> None:
    full: Json = json.loads(source.read_text(encoding="utf-8"))
    paths = {
        path: {method: _operation(full["paths"][path][method]) for method in methods}
        for path, methods in OPERATIONS.items()
    }
    trimmed: Json = {
        "openapi": full["openapi"],
        "info": {
            "title": full["info"]["title"],
            "version": full["info"]["version"],
            "license": full["info"]["license"],
        },
        "servers": full["servers"],
        "paths": paths,
        "components": {},
    }
    wanted = list(_references(paths))
    seen: set[str] = set()
    while wanted:
        reference = wanted.pop()
        if reference in seen:
            continue
        seen.add(reference)
        _, _, kind, name = reference.split("/")
        part = _plain(full["components"][kind][name])
        trimmed["components"].setdefault(kind, {})[name] = part
        wanted += _references(part)
    for kind, parts in trimmed["components"].items():
        trimmed["components"][kind] = dict(sorted(parts.items()))
    OpenAPI.from_dict(trimmed)  # raises where it is none any more
    target.write_text(json.dumps(trimmed, ensure_ascii=False, separators=(",", ":")) + "\n")


def _operation(operation: Json) -> Json:
    kept = {
        name: operation[name]
        for name in ("operationId", "parameters", "requestBody", "responses")
        if name in operation
    }
    return dict(_plain(kept))


def _plain(value: Any, is_schema_map: bool = False) -> Any:
    """The value without prose.

    Below `properties` a key is a name of the API, whatever it is called.
    """
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept: Json = {}
    for name, item in value.items():
        if not is_schema_map and (
            (name in _PROSE and not (name == "description" and _is_response(value)))
            or (name in ("example", "examples") and "schema" not in value and "value" not in value)
        ):
            continue
        if name == "content" and isinstance(item, dict) and "application/json" in item:
            item = {"application/json": item["application/json"]}
        is_example = name == "value" and not is_schema_map
        kept[name] = item if is_example else _plain(item, name in ("properties", "examples"))
    return kept


def _is_response(value: Json) -> bool:
    """A response must have a description, or the document is no OpenAPI."""
    return "content" in value or set(value) <= {"description", "headers"}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "$ref" and isinstance(item, str):
                yield item
            else:
                yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
