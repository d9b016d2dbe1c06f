"""A search among nightly builds, from an index over HTTP to the commits: real installations of a
real torch with one line changed.

Needs the path of torch's CPU wheel in BUGREPORT_TEST_WHEEL (`pip download torch --no-deps`), some 8
GB of disk, and the package index for what torch itself needs.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.created import bugreport
from tests.support.nightlies import rebuilt, served

pytestmark = [
    pytest.mark.releases,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("BUGREPORT_TEST_WHEEL"),
        reason="installs five nightlies; set BUGREPORT_TEST_WHEEL to the path of a CPU wheel",
    ),
]
FILE = "torch/_decomp/decompositions.py"
RIGHT = """def hardsigmoid(self: Tensor) -> Tensor:
    return torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6"""
WRONG = {FILE: (RIGHT, RIGHT.replace("/ 6", "/ 7"))}
REPRO = """
import torch

def repro(x):
    return torch.nn.functional.hardsigmoid(x)

def main():
    x = torch.linspace(-4, 4, 64)
    compiled = torch.compile(repro, backend="aot_eager_decomp_partition")(x)
    assert torch.allclose(compiled, repro(x)), "wrong result: output 0"

if __name__ == "__main__":
    main()
"""
#: The nightlies of one week by their last digit; the line is wrong from the fourth on, and the
#: fifth is the fourth once more.
DAYS = (1, 2, 3, 4, 5, 6)
FIRST_BAD = 4


def version(day: int) -> str:
    return f"2.90.0.dev2026090{day}+cpu"


def commit(day: int) -> str:
    return f"{(FIRST_BAD if day == 5 else day):040x}"


@dataclass
class Index:
    address: str
    hidden: set[str]
    wheels: dict[str, Path]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Two releases and six nightlies between them; the environments lie beside it, and all of it
    goes at the end.
    """
    folder = tmp_path_factory.mktemp("nightlies")
    wheel, files = Path(os.environ["BUGREPORT_TEST_WHEEL"]), folder / "wheels"
    builds = {"2.89.0+cpu": ("a" * 40, {}), "2.90.0+cpu": ("b" * 40, WRONG)}
    builds |= {version(day): (commit(day), WRONG if day >= FIRST_BAD else {}) for day in DAYS}
    try:
        files.mkdir()
        wheels = {
            name: rebuilt(wheel, files, name, git, changes)
            for name, (git, changes) in builds.items()
        }
        with served(files) as (address, hidden):
            yield Index(address, hidden, wheels)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    folder = next(iter(index.wheels.values())).parents[1]
    monkeypatch.setenv("BUGREPORT_RELEASES", str(folder / "releases"))
    monkeypatch.setenv("BUGREPORT_STORE", str(folder / "store"))
    (tmp_path / "repro.py").write_text(REPRO)
    done = bugreport(
        words[0],
        "--json",
        "repro.py",
        *words[1:],
        "--index",
        index.address,
        cwd=tmp_path,
        timeout=3000,
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_the_first_bad_nightly_is_named_with_its_commit(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(
        index, tmp_path, monkeypatch, "bisect", "--good", "2.89.0", "--bad", "2.90.0", "--nightly"
    )
    assert found["found"], found
    assert [found[end]["build"] for end in ("before", "after")] == [version(3), version(4)]
    assert [found[end]["git"] for end in ("before", "after")] == [commit(3), commit(4)]
    assert found["compare"].endswith(f"/{commit(3)}...{commit(4)}")
    assert "--nightly" in found["command"] and "--bad 2.90.0" in found["command"]
    asked = [point["build"] for point in found["points"]]
    assert len(asked) == len(set(asked)) < len(index.wheels)


def test_a_nightly_that_is_listed_no_more_is_found_again_by_its_address(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.hidden.update(index.wheels[version(day)].name for day in (2, 3))
    ends = ["--good", version(1).partition("+")[0], "--bad", version(6).partition("+")[0]]
    found = run(index, tmp_path, monkeypatch, "bisect", *ends)
    assert [found[end]["build"] for end in ("before", "after")] == [version(3), version(4)]


def test_a_nightly_from_a_commit_that_was_judged_needs_no_run(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["check", "--skip-known"]
    for day in (4, 5):
        words += ["--torch", version(day).partition("+")[0]]
    first, second = run(index, tmp_path, monkeypatch, *words)["results"]
    assert [first["outcome"], second["outcome"]] == ["reproduces", "reproduces"]
    assert "built from the commit of torch" in second["detail"] and second["seconds"] == 0
