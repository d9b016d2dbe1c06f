"""What leaves of the machine's facts: honest values as they are, nothing private through any."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from reporter.report.environment import FACTS, build_public_environment, list_withheld
from reporter.report.public_values import (
    read_public_compiler,
    read_public_device,
    read_public_gcc,
    read_public_processor,
    read_public_system,
    read_public_version,
)
from reporter.report.sections.base import build_section
from reporter.report.sections.machine import EnvironmentSection
from templates.versions import render_versions
from tests.support.places import ROOT
from tests.support.surroundings import CANARY, HONEST, canaries

GIT = "cf30153c4c131c8164ee7798e5022d810682e2cb"


@pytest.mark.parametrize("version", [
    "2.13.0", "2.13.0+cpu", "2.6.0+cu126", "2.5.1+cu121.with.pypi.cudnn", "2.0.1+cpu.cxx11.abi",
    "2.9.0+rocm6.4", "2.8.0+xpu", "2.14.0.dev20260612+cpu", "2.13.0rc3", "2.13.0a0+gitcf30153",
    "2.13.0a0+cf30153c4c.nv25.06", "2.6.0+rocm6.4.1.gitcf30153c",
])  # fmt: skip
def test_a_public_release_of_torch_leaves_as_it_is(version: str) -> None:
    assert read_public_version(version, git=GIT) == version


@pytest.mark.parametrize("version, left", [
    ("2.13.0+falconridge.kestrel7", "2.13.0+local"),
    ("2.13.0+cpu.kestrel", "2.13.0+local"),
    ("2.13.0a0+gitdeadbee", "2.13.0a0+local"),
    ("2.13.0a0+git", "2.13.0a0+local"),
    ("2.13.0.kestrel", "2.13.0+local"),
    ("kestrel", "unknown"),
])  # fmt: skip
def test_a_private_build_of_torch_is_called_local(version: str, left: str) -> None:
    assert read_public_version(version, git=GIT) == left


def test_a_commit_counts_only_where_torch_reports_it() -> None:
    assert read_public_version("2.13.0a0+gitcf30153") == "2.13.0a0+local"
    assert read_public_version("3.3.0+git95326d9f", package="pytorch-triton") == "3.3.0+git95326d9f"
    assert read_public_version("3.3.0+kestrel", package="pytorch-triton") == "3.3.0+local"


@pytest.mark.parametrize("text", [
    "Debian GNU/Linux 12 (bookworm) (Linux 6.1.0)", "Ubuntu 22.04.5 LTS (Linux 5.15.0)",
    "Fedora Linux 42 (Linux 6.14.2)", "Red Hat Enterprise Linux 9.4 (Plow) (Linux 5.14.0)",
    "macOS 14.5", "Windows 10", "Linux (Linux 6.1)",
])  # fmt: skip
def test_a_known_system_leaves_as_it_is(text: str) -> None:
    assert read_public_system(text) == text


@pytest.mark.parametrize("text, left", [
    ("Debian GNU/Linux 12 (bookworm) (Linux 6.1.0-falconridge-9)",
     "Debian GNU/Linux 12 (bookworm) (Linux 6.1.0)"),
    ("Kestrel OS 4 (Linux 6.1.falconridge)", "OS 4 (Linux 6.1)"),
    ("Kestrel (Linux kestrel)", "another system"),
])  # fmt: skip
def test_of_another_system_only_numbers_leave(text: str, left: str) -> None:
    assert read_public_system(text) == left


@pytest.mark.parametrize("text", [
    "Intel(R) Xeon(R) Platinum 8488C", "AMD EPYC 7R13 Processor",
    "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "12th Gen Intel(R) Core(TM) i7-1260P",
    "AMD Ryzen 9 7950X3D 16-Core Processor", "Apple M1 Pro", "Neoverse-N1",
    "AMD Ryzen Threadripper PRO 5975WX 32-Core Processor",
])  # fmt: skip
def test_a_known_processor_leaves_as_it_is(text: str) -> None:
    assert read_public_processor(text) == text


@pytest.mark.parametrize("text", [
    "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB", "NVIDIA GeForce RTX 4090",
    "NVIDIA A100-SXM4-80GB", "NVIDIA L40S", "AMD Instinct MI300X", "NVIDIA RTX A6000", "gfx 90402",
    "NVIDIA GeForce RTX 4070 Ti SUPER", "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
])  # fmt: skip
def test_a_known_device_leaves_as_it_is(text: str) -> None:
    assert read_public_device(text) == text


def test_of_a_compiler_its_family_and_its_numbers_leave() -> None:
    assert read_public_compiler("g++ 12.2.0") == "g++ 12.2.0"
    assert read_public_compiler("falconridge-g++ 12.2.0") == "another compiler 12.2.0"
    assert read_public_compiler("MSC v.1938 64 bit (AMD64)") == "MSC v.1938"
    for gcc in ("(Debian 12.2.0-14+deb12u1) 12.2.0", "(Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0"):
        assert read_public_gcc(gcc) == gcc
    assert read_public_gcc("(falconridge build 7) 12.2.0") == "12.2.0"


def test_the_facts_of_an_honest_machine_leave_as_they_are() -> None:
    assert build_public_environment(HONEST) == HONEST
    assert list_withheld(HONEST) == ()


def test_every_fact_of_the_protocol_is_in_the_table() -> None:
    assert [fact.name for fact in FACTS] == list(dict.fromkeys(fact.name for fact in FACTS))
    assert {fact.name for fact in FACTS} == set(HONEST)


def test_the_section_of_report_json_has_the_facts_in_their_order() -> None:
    assert EnvironmentSection.__struct_fields__ == tuple(fact.name for fact in FACTS)
    written = build_section(EnvironmentSection, HONEST).to_json()
    assert json.dumps(written) == json.dumps(build_public_environment(HONEST))


@pytest.mark.parametrize("fact", [fact.name for fact in FACTS])
def test_no_canary_leaves_through_a_fact(fact: str) -> None:
    for number, spoiled in enumerate(canaries(HONEST[fact])):
        facts = {**HONEST, fact: spoiled}
        left = build_public_environment(facts)
        told = json.dumps(left) + render_versions(left)
        assert CANARY not in told.lower(), (fact, number, left[fact])
        assert any(CANARY in word for word in list_withheld(facts)), (fact, spoiled)
        assert build_public_environment(left) == left
        assert build_section(EnvironmentSection, left).to_json() == left


def test_the_page_shows_the_table() -> None:
    page = (ROOT / "docs" / "reference" / "what-leaves.md").read_text(encoding="utf-8")
    assert "<!-- generated: what-leaves -->" in page


def _strings(value: Any) -> Iterator[str]:
    yield from re.findall(r"\w+", json.dumps(value))
