"""What of the machine a sandbox shows, on folders made for the purpose."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reporter.execution import interpreter
from reporter.sandbox.view import View, build_interpreter_view, build_system_view, build_tool_view
from tests.support.places import ROOT


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[str]]]:
    """What the interpreter says of itself; it is not remembered for other tests."""
    said: dict[str, list[str]] = {"prefixes": [], "sites": [], "packages": []}
    monkeypatch.setattr(interpreter, "ask", lambda python, code: said)
    build_interpreter_view.cache_clear()
    yield said
    build_interpreter_view.cache_clear()


def made(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True)


def test_of_a_prefix_only_the_parts_of_an_environment_are_shown(
    tmp_path: Path, facts: dict[str, list[str]]
) -> None:
    prefix = tmp_path / "local"
    made(
        *(prefix / name for name in ("bin", "lib", "include", "x86_64-linux-gnu", "share", ".ssh"))
    )
    (prefix / "pyvenv.cfg").write_text("")
    (prefix / "bin" / "python").write_text("")
    facts["prefixes"] = [str(prefix)]
    shown = build_interpreter_view(prefix / "bin" / "python").shown
    names = ("bin", "include", "lib", "pyvenv.cfg", "x86_64-linux-gnu")
    assert sorted(shown) == [str(prefix / name) for name in names]


def test_the_whole_machine_is_no_prefix(tmp_path: Path, facts: dict[str, list[str]]) -> None:
    python = tmp_path / "python"
    python.write_text("")
    facts["prefixes"] = ["/", str(tmp_path / "gone")]
    assert build_interpreter_view(python).shown == (str(python),)


def test_packages_outside_the_environment_are_shown_and_searched(
    tmp_path: Path, facts: dict[str, list[str]]
) -> None:
    prefix, user = tmp_path / "env", tmp_path / "home" / "site-packages"
    site, editable = prefix / "lib" / "site-packages", tmp_path / "src" / "torch"
    made(site, user, editable)
    python = prefix / "python"
    python.write_text("")
    facts["prefixes"] = [str(prefix)]
    facts["sites"] = [str(site), str(user), "/usr/lib/python3/dist-packages"]
    facts["packages"] = [str(site / "triton"), str(editable), str(tmp_path / "gone")]
    view = build_interpreter_view(python)
    assert sorted(view.shown) == sorted(map(str, (prefix / "lib", user, editable, python)))
    assert view.search == (str(user),)


def test_the_real_place_of_a_prefix_is_shown_as_well(
    tmp_path: Path, facts: dict[str, list[str]]
) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    made(real / "lib")
    link.symlink_to(real)
    python = tmp_path / "python"
    python.write_text("")
    facts["prefixes"] = [str(link)]
    shown = build_interpreter_view(python).shown
    assert {str(real / "lib"), str(link / "lib")} <= set(shown)


def test_the_links_to_an_interpreter_are_made_where_nothing_is_shown(
    tmp_path: Path, facts: dict[str, list[str]]
) -> None:
    env, base = tmp_path / "env", tmp_path / "base"
    made(env / "bin", base / "bin", tmp_path / "bin")
    (base / "bin" / "python3.11").write_text("")
    (base / "bin" / "python3").symlink_to("python3.11")
    (env / "bin" / "python").symlink_to("../../bin/python3")
    (tmp_path / "bin" / "python3").symlink_to(base / "bin" / "python3")
    facts["prefixes"] = [str(base)]
    view = build_interpreter_view(env / "bin" / "python")
    assert view.links == (
        ("../../bin/python3", str(env / "bin" / "python")),
        (str(base / "bin" / "python3"), str(tmp_path / "bin" / "python3")),
    )
    assert view.shown == (str(base / "bin"),)


def test_links_that_go_round_come_to_an_end(tmp_path: Path, facts: dict[str, list[str]]) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    links = build_interpreter_view(tmp_path / "one").links
    assert set(links) == {("two", str(tmp_path / "one")), ("one", str(tmp_path / "two"))}


def test_two_views_together_show_nothing_twice() -> None:
    one = View(("/opt/a/b", "/opt/c"), (("x", "/x"),), ("/s",))
    two = View(("/opt/a", "/opt/c", "/opt/ab"), (("x", "/x"), ("y", "/y")), ("/s", "/t"))
    both = one + two
    assert set(both.shown) == {"/opt/a", "/opt/c", "/opt/ab"} and len(both.shown) == 3
    assert both.links == (("x", "/x"), ("y", "/y"))
    assert both.search == ("/s", "/t")


def test_what_the_system_shows_anyway_is_not_shown_again() -> None:
    shown = (View(("/usr", "/usr/lib/python3"), ()) + View(("/usr/local/bin",))).shown
    assert shown == ("/usr",)


def test_the_system_is_programs_and_libraries_and_nothing_of_a_person() -> None:
    view = build_system_view()
    assert "/usr" in view.shown
    assert not {"/", "/etc", "/home", "/root", "/var", "/run", "/tmp", "/proc"} & set(view.shown)
    there = [name for name in ("bin", "lib", "lib64") if os.path.lexists(f"/{name}")]
    for name in there:
        target = os.readlink(f"/{name}") if os.path.islink(f"/{name}") else None
        assert (target, f"/{name}") in view.links if target else f"/{name}" in view.shown
    assert all(os.path.exists(path) for path in view.shown)


def test_what_systems_without_usr_keep_and_what_threads_are_placed_by_is_shown_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nix and Guix have their programs in stores; OpenMP asks for processors and their nodes."""
    monkeypatch.setattr(os.path, "exists", lambda path: True)
    shown = set(build_system_view().shown)
    assert {"/nix/store", "/gnu/store"} <= shown
    assert {"/sys/devices/system/cpu", "/sys/devices/system/node"} <= shown
    monkeypatch.setattr(os.path, "exists", lambda path: path == "/usr")
    monkeypatch.setattr(os.path, "isdir", lambda path: False)
    assert build_system_view().shown == ("/usr",)


def test_a_folder_of_programs_that_is_no_link_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "islink", lambda path: path == "/lib")
    monkeypatch.setattr(os, "readlink", lambda path: "usr/lib")
    monkeypatch.setattr(os.path, "isdir", lambda path: path == "/sbin")
    view = build_system_view()
    assert view.links == (("usr/lib", "/lib"),)
    assert "/sbin" in view.shown and "/bin" not in view.shown


def test_the_tool_shows_its_packages_and_its_interpreter(facts: dict[str, list[str]]) -> None:
    shown = build_tool_view().shown
    for name in ("reporter", "anonymizer", "templates", "collectors"):
        assert str(ROOT / name) in shown
    assert str(ROOT) not in shown and str(ROOT / "tests") not in shown
    assert any(os.path.realpath(sys.executable).startswith(path) for path in shown)
