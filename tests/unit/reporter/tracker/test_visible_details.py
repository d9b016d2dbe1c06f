"""What stays visible is shown: sizes, numbers, options, operators, how common their chain is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reporter.report.reading import read_report
from reporter.tracker.public_models import COMMON, find_chain
from reporter.tracker.visible_details import find_visible_details
from tests.support.places import DATA

MODEL = """
import torch
class Block(torch.nn.Module):
    def forward(self, x):
        h = torch.softmax(x @ self.weight, dim=-1)
        return self.relu1(h).cumsum(0)
"""


def site(folder: Path, files: int, package: str = "torchvision", text: str = MODEL) -> Path:
    place = folder / package / "models"
    place.mkdir(parents=True)
    (folder / package / "__init__.py").write_text("")
    for number in range(files):
        (place / f"model{number}.py").write_text(text)
    return folder


@pytest.mark.parametrize("operators, files, commonness, functions", [
    (("torch.matmul", "torch.softmax", "torch.nn.functional.relu_"), 1, "some", 1),
    (("torch.softmax", "cumsum"), COMMON, "common", COMMON),
    # the same operators in another order are another chain
    (("cumsum", "torch.softmax"), 3, "none", 0),
    (("torch.frexp",), 3, "none", 0),
    # words of Python are no operators
    (("slice", "torch.softmax"), 1, "some", 1),
    (("__getitem__", "torch.softmax"), 1, "some", 1),  # in reports of before
])  # fmt: skip
def test_a_chain_is_counted_in_public_models(
    operators: tuple[str, ...], files: int, commonness: str, functions: int, tmp_path: Path
) -> None:
    found = find_chain(operators, (site(tmp_path, files),))
    assert (found.commonness, found.functions) == (commonness, functions)
    assert found.packages == ("torchvision",)


def test_packages_that_are_not_public_are_not_looked_at(tmp_path: Path) -> None:
    found = find_chain(("torch.softmax",), (site(tmp_path, 3, "falconridge"),))
    assert found.commonness is None and found.functions == 0


def test_the_packages_of_the_interpreter_that_ran_the_program_are_looked_at(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site(tmp_path / "env" / "lib" / "python3.12" / "site-packages", 3)
    recording = json.loads((DATA / "recordings" / "foobar.json").read_text())
    recording["call"]["surroundings"]["python"] = str(tmp_path / "env" / "bin" / "python")
    (report / "private" / "recording.json").write_text(json.dumps(recording))
    document = json.loads((report / "report.json").read_text())
    document["repro"]["operators"] = ["torch.softmax", "cumsum"]
    monkeypatch.setattr("site.getsitepackages", list)
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    chain = find_visible_details(report, read_report(document, "here")).chain
    assert (chain.packages, chain.functions) == (("torchvision",), 3)


def test_a_file_that_is_no_python_is_passed_over(tmp_path: Path) -> None:
    found = find_chain(("torch.softmax",), (site(tmp_path, 1, text="softmax def ("),))
    assert found.commonness == "none"


def test_the_screen_names_all_that_had_to_stay(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = [str(site(tmp_path, 3))]
    monkeypatch.setattr("site.getsitepackages", lambda: installed)
    document = json.loads((report / "report.json").read_text())
    document.update(sizes_left=[1289], numbers_left=[211])
    document["requires"].update(
        backward=True, mode="max-autotune", config={"torch._inductor.config.cpp.simdlen": 1}
    )
    document["repro"]["operators"] = ["torch.frexp"]
    found = find_visible_details(report, read_report(document, "here"))
    shown = "\n".join(found.render_lines())
    for words in (
        "1289 (the failure is not there with a generic one)", "numbers:   211 (", "backward",
        "mode=max-autotune", "torch._inductor.config.cpp.simdlen=1", "operators: torch.frexp",
    ):  # fmt: skip
        assert words in shown
    assert len(found.render_lines()) <= 24
    told = found.to_json()
    assert told["sizes"] == [1289] and told["numbers"] == [211]
    assert told["chain"]["commonness"] == "none" and "torchvision" in told["chain"]["packages"]
