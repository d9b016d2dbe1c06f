"""`anonymize` where the private model runs in another release of torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.anonymized import anonymize, check_proved
from tests.support.created import SCRIPTS, check_report
from tests.support.scripts import text

SECRETS: dict[str, list[str]] = json.loads((SCRIPTS / "secrets.json").read_text())


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ("v20", "large_seq2seq_alibi"),
        ("v26", "stale_offset_backend"),
        ("v215", "stale_offset_backend"),
    ],
)
def test_the_whole_model_is_proved_and_fails_in_other_releases(
    env: str, name: str, tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    python = release_python(env)
    created = anonymize(text(name), tmp_path, python=python)
    check_report(created, python, SECRETS.get(name))
    check_proved(created)
