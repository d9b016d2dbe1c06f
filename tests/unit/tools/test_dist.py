"""Archives say nothing of who made them and when; every dependency has two bounds."""

from __future__ import annotations

import io
import re
import tarfile

import pytest
from packaging.requirements import Requirement

from tests.support.places import ROOT
from tools.dist import normalize_archive


def archive(names: list[str], mtime: int, user: str, mode: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        for name in names:
            member = tarfile.TarInfo(name)
            member.mtime, member.uname, member.uid, member.mode = mtime, user, mtime, mode
            member.size = len(name)
            made.addfile(member, io.BytesIO(name.encode()))
    return packed.getvalue()


def test_an_archive_is_the_same_whoever_made_it() -> None:
    one = normalize_archive(archive(["a", "b/c"], 7, "kim", 0o600), 1000)
    other = normalize_archive(archive(["b/c", "a"], 9, "lee", 0o664), 1000)
    assert one == other
    assert one != normalize_archive(archive(["a", "b/d"], 7, "kim", 0o600), 1000)
    with tarfile.open(fileobj=io.BytesIO(one)) as made:
        assert [(m.name, m.mtime, m.uname, m.mode) for m in made] == [
            ("a", 1000, "", 0o644),
            ("b/c", 1000, "", 0o644),
        ]


def _dependencies() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    assert section is not None
    return re.findall(r'^ +"(.*)",$', section[1], re.MULTILINE)


@pytest.mark.parametrize("text", _dependencies())
def test_a_dependency_has_a_lower_and_an_upper_bound(text: str) -> None:
    assert {each.operator for each in Requirement(text).specifier} == {">=", "<"}
