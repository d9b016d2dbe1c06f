"""`create` end to end on real bugs of other releases of torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.created import SCRIPTS, check_report, check_smallest, create

SECRETS = json.loads((SCRIPTS / "secrets.json").read_text())
#: environment, script, kind, layers that are right, most statements a repro may have
RELEASES = [
    ("v26", "frexp", "crash", {"inductor"}, 2),
    ("v26", "pad3d", "wrong_result", {"inductor"}, 5),
    ("v26", "adam_step_item", "crash_on_recompile", {"aot_autograd"}, 2),
    ("v26", "kept_gradient", "wrong_metadata", {"aot_autograd"}, 1),
    ("v26", "create/notes_an_infinity", "wrong_metadata", {"dynamo"}, 2),
    ("v20", "dyn_dict", "crash", {"dynamo"}, 2),
]


@pytest.mark.parametrize(("env", "name", "kind", "layers", "most"), RELEASES)
def test_a_report_of_another_release(
    env: str,
    name: str,
    kind: str,
    layers: set[str],
    most: int,
    tmp_path: Path,
    release_python: Callable[[str], Path],
) -> None:
    python = release_python(env)
    created = create(name, tmp_path, python)
    check_report(created, python, SECRETS.get(name))
    assert created.document["verdict"]["kind"] == kind
    assert created.document["verdict"]["layer"] in layers
    assert created.document["repro"]["statements"] <= most
    check_smallest(created, python)
