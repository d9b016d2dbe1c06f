"""Real bugs on real releases: what fails there, what fixed it, and what a maintainer would be told.

The interpreters are those of BUGREPORT_TEST_ENVS; two tests install a release as a user would, from
the index.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RELEASES
from tests.support.created import bugreport, create
from tests.support.places import DATA

pytestmark = pytest.mark.releases
REPROS = DATA / "repros"
Python = Callable[[str], Path]
FAILS, RIGHT = "reproduces", "fixed"
#: What plain runs of each repro show, release by release.
MATRIX = {
    "frexp": {"v20": RIGHT, "v26": FAILS, "v213": RIGHT, "v215": RIGHT},
    "pad3d": {"v20": RIGHT, "v26": FAILS, "v213": RIGHT, "v215": RIGHT},
    "crash": dict.fromkeys(RELEASES, FAILS),
}


def run(tmp_path: Path, *words: str | Path) -> tuple[int, dict[str, Any]]:
    done = bugreport(*words, "--json", cwd=tmp_path, timeout=3000)
    return done.returncode, json.loads(done.stdout)


def test_the_matrix_of_real_bugs(tmp_path: Path, release_python: Python) -> None:
    pythons = {name: release_python(name) for name in RELEASES}
    repros = [REPROS / f"{name}.py" for name in MATRIX]
    places = [word for python in pythons.values() for word in ("--python", python)]
    code, document = run(tmp_path, "check", *repros, *places)
    found = {(row["repro"], row["release"]): row["outcome"] for row in document["results"]}
    assert code == 1 and found == {
        (str(REPROS / f"{name}.py"), str(pythons[env])): outcome
        for name, row in MATRIX.items()
        for env, outcome in row.items()
    }


@pytest.mark.parametrize("name", ["frexp", "pad3d"])
def test_what_fixed_it(name: str, tmp_path: Path, release_python: Python) -> None:
    places = [w for env in ("v26", "v213", "v215") for w in ("--python", release_python(env))]
    code, document = run(tmp_path, "bisect", REPROS / f"{name}.py", "--find-fix", *places)
    assert code == 0 and document["found"]
    assert (document["before"]["torch"], document["after"]["torch"]) == ("2.6.0", "2.13.0")
    commits = [document[end]["git"] for end in ("before", "after")]
    assert document["compare"].endswith("...".join(commits)) and all(map(len, commits))
    assert "--find-fix" in document["command"]


def test_what_broke_it(tmp_path: Path, release_python: Python) -> None:
    places = [w for env in ("v20", "v26") for w in ("--python", release_python(env))]
    code, document = run(tmp_path, "bisect", REPROS / "frexp.py", *places)
    assert code == 0
    assert (document["before"]["torch"], document["after"]["torch"]) == ("2.0.1", "2.6.0")


def test_ends_that_do_not_differ(tmp_path: Path, release_python: Python) -> None:
    places = [w for env in ("v213", "v215") for w in ("--python", release_python(env))]
    code, document = run(tmp_path, "bisect", REPROS / "frexp.py", "--find-fix", *places)
    assert code == 1 and "nothing changed between them" in document["reason"]


def test_a_report_is_checked_by_its_signature(tmp_path: Path, release_python: Python) -> None:
    created = create("frexp", tmp_path, release_python("v26"))
    assert created.code == 0, created.talk
    assert created.document["failure"]["exception"] == "CppCompileError"
    places = [w for env in ("v26", "v213") for w in ("--python", release_python(env))]
    code, document = run(tmp_path, "check", created.folder, *places)
    assert code == 1
    assert [row["outcome"] for row in document["results"]] == [FAILS, RIGHT]


@pytest.mark.skipif(
    not os.environ.get("BUGREPORT_TEST_INSTALL"),
    reason="installs torch from the index, several GB; set BUGREPORT_TEST_INSTALL",
)
def test_the_first_release_that_fixed_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installs what the search asks for, from the index, as a user's `bisect` does: 2.6.0, 2.7.0,
    2.7.1 and 2.8.0.
    """
    monkeypatch.setenv("BUGREPORT_RELEASES", os.environ["BUGREPORT_TEST_INSTALL"])
    ends = ["--find-fix", "--bad", "2.6.0", "--good", "2.8.0"]
    code, document = run(tmp_path, "bisect", REPROS / "frexp.py", *ends, "--timeout", "600")
    assert code == 0
    assert (document["before"]["torch"], document["after"]["torch"]) == ("2.6.0", "2.7.0")
