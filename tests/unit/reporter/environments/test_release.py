"""What a user may name as a release."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.environments.release import (
    Release,
    build_interpreter_release,
    parse,
    strip_local_part,
)
from reporter.environments.selection import Selection, select_releases
from tests.support.wheels import make_wheels


def test_what_a_user_may_name(tmp_path: Path) -> None:
    assert parse("2.6.0") == Release("2.6.0", version="2.6.0")
    url = "https://x/torch-2.16.0.dev20261101%2Bcpu-cp311-cp311-linux_x86_64.whl"
    assert parse(url) == Release("2.16.0.dev20261101+cpu", wheel=url)
    assert strip_local_part("2.13.0+cpu") == "2.13.0"
    for text in ("torch", "2", "", "2.6.0; rm", "gone.whl", "2.", ".6", "2.6.x", "2.6.0+", "2.²"):
        with pytest.raises(UsageError):
            parse(text)
        with pytest.raises(UsageError):
            select_releases(Selection(torch=(text,)))
    names = {
        Release("a", version="2.6.0").folder_name,
        Release("a", version="2.6.0", backend="cpu").folder_name,
        Release("a", version="2.6.0", index="https://x").folder_name,
        parse(url).folder_name,
    }
    assert len(names) == 4 and Release(**asdict(parse(url))) == parse(url)


@pytest.mark.parametrize(
    ("index", "backend", "wanted"),
    [
        (None, None, "https://download.pytorch.org/whl/nightly/cpu"),
        (None, "cu126", "https://download.pytorch.org/whl/nightly/cu126"),
        ("https://example.org/simple", None, "https://example.org/simple"),
    ],
)
def test_a_development_version_is_a_nightly_build(
    index: str | None, backend: str | None, wanted: str
) -> None:
    assert parse("2.16.0.dev20261101", index, backend).index == wanted
    assert parse("2.16.0rc1").index is None


def test_the_name_of_an_interpreter_can_be_stored(tmp_path: Path) -> None:
    python = Path("/caf\udce9/bin/python")  # as Python has a name that is not UTF-8
    release = build_interpreter_release(python)
    assert release.key.encode() and release.python == str(python)


def test_what_is_called_alike_is_told_apart(tmp_path: Path) -> None:
    """Two wheels of one version, the release of that version, and that of another index."""
    wheels = [make_wheels(tmp_path / name, "2.6.0")["2.6.0"] for name in ("old", "new")]
    words = [*map(str, wheels), str(wheels[0]), "2.6.0"]
    selected = select_releases(Selection(torch=tuple(words)))
    assert [release.label for release in selected] == ["2.6.0"] * 3
    other = parse("2.6.0", "https://me:secret@example.org/simple")
    assert len({release.key for release in (*selected, other)}) == 4
    assert parse("2.6.0").key == "2.6.0" and "secret" not in other.key
    url = "https://me:secret@x/torch-2.6.0-cp311-cp311-linux_x86_64.whl"
    assert parse(url).key == url.replace("me:secret@", "")


def test_a_wheel_that_was_built_anew_is_another_one(tmp_path: Path) -> None:
    wheel = make_wheels(tmp_path, "2.99.0")["2.99.0"]
    before = parse(str(wheel)).folder_name
    os.utime(wheel, (1, 1))
    assert parse(str(wheel)).folder_name != before
