"""An index is asked over HTTP, as pip and uv do it; what a user may name is read from its
answer.
"""

from __future__ import annotations

import sysconfig
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reporter.core.errors import CannotJudgeError, UsageError
from reporter.environments import index
from reporter.environments.environments import Environments
from reporter.environments.listing import list_offers
from reporter.environments.release import Release
from reporter.environments.selection import Selection, select_releases
from reporter.store.database import open_store
from tests.support.checking import make_uv

MACHINE = sysconfig.get_platform().replace("-", "_").replace(".", "_")
FILES = [
    *(f"torch-2.0.1-cp{tag}-cp{tag}-{MACHINE}.whl" for tag in ("39", "310", "311")),
    f"torch-1.13.0-cp310-cp310-{MACHINE}.whl",
    f"torch-2.6.0-cp311-cp311-{MACHINE}.whl",
    f"torch-2.6.1-cp313-cp313-{MACHINE}.whl",
    "torch-2.7.0-cp311-cp311-win_arm64.whl",
    "torch-2.8.0-none.whl",
    *(f"torch-2.7.0.dev2025010{day}-cp311-cp311-{MACHINE}.whl" for day in (1, 2, 3)),
]


@pytest.fixture
def served() -> Iterator[tuple[str, list[str]]]:
    """A simple repository on this machine: its URL, and its files, which a test may change."""
    files = list(FILES)

    def link(name: str) -> str:
        name, _, mark = name.partition(" ")
        return f'<a href="/files/{name}"{mark and " data-yanked=broken"}>{name}</a>\n'

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_torch = self.path.startswith("/simple/torch")
            body = "".join(map(link, files)).encode()
            self.send_response(200 if is_torch else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body if is_torch else b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    index.fetch_offers.cache_clear()
    yield f"http://127.0.0.1:{server.server_port}/simple", files
    server.shutdown()
    server.server_close()


def test_the_versions_with_a_wheel_for_this_machine(served: tuple[str, list[str]]) -> None:
    found = index.fetch_offers(served[0])
    assert [(offer.version, offer.pythons) for offer in found] == [
        ("2.0.1", ((3, 9), (3, 10), (3, 11))),
        ("2.6.0", ((3, 11),)),
        ("2.6.1", ((3, 13),)),
        *((f"2.7.0.dev2025010{day}", ((3, 11),)) for day in (1, 2, 3)),
    ]


def test_a_yanked_release_is_installed_where_it_is_named(
    served: tuple[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, files = served
    tag = f"cp311-cp311-{MACHINE}.whl"
    files += [f"torch-2.6.9-{tag} yanked", f"torch-2.6.0-cp312-cp312-{MACHINE}.whl yanked"]
    assert "2.6.9" not in [offer.version for offer in index.fetch_offers(place)]
    assert [offer.version for offer in index.fetch_yanked_offers(place)] == ["2.6.9"]
    monkeypatch.setenv("UV_DEFAULT_INDEX", place)
    environments = Environments(tmp_path, installer=make_uv(tmp_path, "echo here; exit 1"))
    for version, reason in (("2.6.9", "here"), ("2.6.8", "the index has no wheel of it")):
        with pytest.raises(CannotJudgeError, match=f"cannot be installed: {reason}"):
            environments.provide(Release(version, version=version))


@pytest.mark.parametrize(
    ("word", "version"), [("latest", "2.6.1"), ("2.6", "2.6.1"), ("nightly", "2.7.0.dev20250103")]
)
def test_words_are_looked_up(word: str, version: str, served: tuple[str, list[str]]) -> None:
    assert index.is_word(word)
    found = index.find(word, served[0], None)
    assert (found.version, found.index) == (version, served[0])


def test_an_index_that_does_not_answer_is_a_result(tmp_path: Path) -> None:
    selection = Selection(torch=("nightly,2.6.0",), index="http://127.0.0.1:9/simple")
    nightly, other = select_releases(selection)
    assert other.version == "2.6.0" and nightly.label == "nightly"
    with pytest.raises(CannotJudgeError, match="cannot be read"):
        Environments(tmp_path).provide(nightly)


def test_what_is_not_there_is_said(served: tuple[str, list[str]]) -> None:
    with pytest.raises(UsageError, match=r"no torch 2\.9"):
        index.find("2.9", served[0], None)
    with pytest.raises(CannotJudgeError, match="cannot be read"):
        index.fetch_offers("http://127.0.0.1:9/simple")
    with pytest.raises(CannotJudgeError, match="has no torch"):
        index.fetch_offers(served[0].replace("/simple", "/elsewhere/torch/not"))


def test_an_index_of_a_later_api_cannot_be_read(served: tuple[str, list[str]]) -> None:
    served[1].append('x"></a><meta\tname="pypi:repository-version"\tcontent="2.0"><a\thref="')
    with pytest.raises(CannotJudgeError, match=r"cannot be read \(UnsupportedRepoVersionError\)"):
        index.fetch_offers(served[0])


def test_the_login_of_an_index_is_in_no_sentence(
    served: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def add_login(place: str) -> str:
        return place.replace("//", "//me:secret@")

    monkeypatch.setenv("PIP_INDEX_URL", add_login("http://127.0.0.1:9/simple"))
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.delenv("UV_INDEX_URL", raising=False)
    (latest,) = select_releases(Selection(torch=("latest",)))
    assert latest.problem and "the index http://127.0.0.1:9/simple cannot" in latest.problem
    served[1][:] = [name for name in FILES if "dev" in name]
    for word, place in (
        ("latest", served[0]),  # which lists no release
        ("latest", served[0].replace("/simple", "/elsewhere/torch/not")),
    ):
        with pytest.raises(CannotJudgeError) as caught:
            index.find(word, add_login(place), None)
        assert "127.0.0.1" in str(caught.value) and "secret" not in str(caught.value)
    listed = list_offers(add_login(served[0])).to_json()
    assert listed["offers"] and "secret" not in str(listed)


def test_a_build_that_the_index_no_longer_lists_is_remembered(
    served: tuple[str, list[str]], tmp_path: Path
) -> None:
    place, files = served
    with open_store(tmp_path / "s") as store:
        first = index.remember(store, index.fetch_offers(place))
        del files[-3]
        index.fetch_offers.cache_clear()
        assert len(index.fetch_offers(place)) == len(first) - 1
        again = index.remember(store, index.fetch_offers(place))
    gone = [offer for offer in again if not offer.is_listed]
    assert [replace(offer, is_listed=True) for offer in again] == list(first)
    # a wheel can be installed by its address when the index has stopped to list it
    assert [offer.build_release() for offer in gone] == [
        Release(gone[0].version, wheel=gone[0].url)
    ]
    assert gone[0].url.endswith(f"torch-{gone[0].version}-cp311-cp311-{MACHINE}.whl")
    inside = index.select_offers(first, "2.6.1", "2.7.0")
    assert [offer.version for offer in inside] == [
        "2.6.1",
        *(f"2.7.0.dev2025010{day}" for day in (1, 2, 3)),
    ]


PYTHONS = [
    ("2.0.1", [(3, 9), (3, 10), (3, 11)], (3, 10)),
    ("2.2.0", [(3, 11), (3, 12)], (3, 11)),
    ("2.5.1", [(3, 12), (3, 13)], (3, 12)),
    ("2.6.0", [(3, 13)], (3, 13)),
    ("2.9.1", [(3, 13), (3, 14)], (3, 13)),
    ("2.16.0.dev20261101", [(3, 13), (3, 14)], (3, 14)),
]


@pytest.mark.parametrize(("version", "offered", "best"), PYTHONS)
def test_a_python_in_which_it_can_compile(
    version: str, offered: list[tuple[int, int]], best: tuple[int, int]
) -> None:
    assert index.select_pythons(version, offered)[0] == best
