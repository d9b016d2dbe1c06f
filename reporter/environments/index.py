"""What an index offers is asked of the index itself: versions, the Pythons they have wheels for,
and nothing guessed.

Any index that speaks the simple repository API will do: PyPI, a mirror, or a folder of nightlies.
The nightly index lists only its newest builds although older ones can still be installed, so what
was once seen is remembered in the store.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from packaging.tags import compatible_tags, cpython_tags, platform_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.tokens import remove_logins
from reporter.environments.release import Release, resolve_nightly_index, strip_local_part
from reporter.store.database import open_transaction

PYPI = "https://pypi.org/simple"
_OLDEST = Version("2.0.0")
#: The newest Python with which torch.compile works, from that torch release on; their release notes
#: say so.
_NEWEST_PYTHON = (
    (Version("2.0"), (3, 10)),
    (Version("2.1"), (3, 11)),
    (Version("2.4"), (3, 12)),
    (Version("2.6"), (3, 13)),
    (Version("2.10"), (3, 14)),
)
_SERIES = re.compile(r"[0-9]+\.[0-9]+")
#: The address of a version's wheel for each Python.
_Wheels: TypeAlias = dict[Version, dict[tuple[int, int], str]]
#: Seconds without a byte, as pip has it.
_PATIENCE = 15.0


@dataclass(frozen=True)
class Offer:
    """A version on an index; `pythons` are those with a wheel for this machine, `url` is the
    wheel's for the best of them.

    One that is not `is_listed` any more is still there under its address.
    """

    version: str
    pythons: tuple[tuple[int, int], ...]
    index: str
    url: str = ""
    is_listed: bool = True

    def build_release(self, backend: str | None = None) -> Release:
        """The release of this version."""
        if not self.is_listed and self.url:
            return Release(self.version, wheel=self.url)
        where = None if self.index == _find_default_index() else self.index
        return Release(self.version, version=self.version, index=where, backend=backend)


def _find_default_index() -> str:
    """The index that pip and uv use here as well."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if os.environ.get(name):
            return os.environ[name].rstrip("/")
    return PYPI


@functools.lru_cache(maxsize=8)
def fetch_offers(index: str | None = None) -> tuple[Offer, ...]:
    """All torch versions from 2.0 on with a wheel for this machine, oldest first, yanked ones left
    out.

    Raises:
        CannotJudgeError: the index cannot be reached, or does not know torch.
    """
    return _fetch_all_offers(index)[0]


def fetch_yanked_offers(index: str | None = None) -> tuple[Offer, ...]:
    """Those of which all wheels are yanked: installed where somebody names them, never chosen.

    Raises:
        CannotJudgeError: as `fetch_offers` does.
    """
    return _fetch_all_offers(index)[1]


def _fetch_all_offers(index: str | None) -> tuple[tuple[Offer, ...], tuple[Offer, ...]]:
    """The offers of an index, and its yanked ones.

    Raises:
        CannotJudgeError: as `fetch_offers` does.
    """
    import requests
    from pypi_simple import (
        NoSuchProjectError,
        PyPISimple,
        UnsupportedContentTypeError,
        UnsupportedRepoVersionError,
    )

    place = (index or _find_default_index()).rstrip("/")
    name = remove_logins(place)
    try:
        with PyPISimple(place) as client:
            page = client.get_project_page("torch", timeout=_PATIENCE)
    except NoSuchProjectError:
        raise CannotJudgeError(f"the index {name} has no torch") from None
    except (
        requests.RequestException,
        UnsupportedContentTypeError,
        UnsupportedRepoVersionError,
        ValueError,
    ) as error:
        raise CannotJudgeError(
            f"the index {name} cannot be read ({type(error).__name__})"
        ) from None
    good: _Wheels = {}
    yanked: _Wheels = {}
    for package in page.packages:
        version, pythons = _parse_wheel(package.filename)
        if version is None or version < _OLDEST:
            continue
        wheels = yanked if package.is_yanked else good
        for python in pythons:
            wheels.setdefault(version, {}).setdefault(python, package.url.partition("#")[0])
    only_yanked = {version: urls for version, urls in yanked.items() if version not in good}
    return _build_offers(good, place), _build_offers(only_yanked, place)


def _build_offers(wheels: _Wheels, place: str) -> tuple[Offer, ...]:
    return tuple(
        Offer(str(version), tuple(sorted(urls)), place, _choose_best(str(version), urls))
        for version, urls in sorted(wheels.items())
    )


def _choose_best(version: str, urls: Mapping[tuple[int, int], str]) -> str:
    """The wheel for the newest Python in which that torch can compile."""
    fitting = select_pythons(version, urls) or tuple(sorted(urls))
    return urls[fitting[0]]


@functools.cache
def _list_tags(python: tuple[int, int]) -> frozenset[str]:
    platforms = list(platform_tags())
    tags = chain(
        cpython_tags(python, platforms=platforms), compatible_tags(python, platforms=platforms)
    )
    return frozenset(str(tag) for tag in tags)


def _parse_wheel(filename: str) -> tuple[Version | None, set[tuple[int, int]]]:
    """The version in a wheel's name and the Pythons it works with on this machine."""
    try:
        _, version, _, tags = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidVersion):
        return None, set()
    names = {str(tag) for tag in tags}
    pythons = {(3, minor) for minor in range(9, 16) if names & _list_tags((3, minor))}
    return version, pythons


def list_wheel_pythons(wheel: str) -> tuple[tuple[int, int], ...]:
    """The Pythons of this machine that a wheel, given by its path or URL, works with.

    Raises:
        CannotJudgeError: it is not for this machine, or its name is no wheel's.
    """
    _, pythons = _parse_wheel(wheel.rsplit("/", 1)[-1].replace("%2B", "+"))
    if not pythons:
        raise CannotJudgeError("the wheel is not for this machine, or its name is no wheel's")
    return tuple(sorted(pythons))


def select_pythons(
    version: str, offered: Iterable[tuple[int, int]] = ()
) -> tuple[tuple[int, int], ...]:
    """The Pythons in which that torch can compile, newest first; of the `offered` ones, if any
    are.
    """
    wanted = Version(version)
    newest = next(
        (
            python
            for start, python in reversed(_NEWEST_PYTHON)
            if wanted >= Version(f"{start}.dev0")
        ),
        (3, 10),
    )
    known = tuple(offered) or tuple((3, minor) for minor in range(9, 15))
    return tuple(sorted((python for python in known if python <= newest), reverse=True))


def find(text: str, index: str | None, backend: str | None) -> Release:
    """The release that a word such as `latest`, `nightly` or `2.6` stands for: the newest of them
    with a wheel for this machine.

    Args:
        index: URL of the package index; None: that of pip, or PyTorch's own for nightlies.
        backend: the build to install, such as `cpu` or `cu126`; None: what suits the machine.
            Nightlies are looked for in the index of that build, else in that of `cpu`.

    Raises:
        UsageError, CannotJudgeError: there is no such thing, or the index cannot be asked.
    """
    if text == "nightly":
        index = index or resolve_nightly_index(backend)
        builds = [offer for offer in fetch_offers(index) if Version(offer.version).is_prerelease]
        if not builds:
            raise CannotJudgeError(
                f"the index {remove_logins(index)} lists no nightly build for this machine"
            )
        return builds[-1].build_release(backend)
    finals = [offer for offer in fetch_offers(index) if not Version(offer.version).is_prerelease]
    if text == "latest":
        if not finals:
            place = remove_logins(index or _find_default_index())
            raise CannotJudgeError(f"the index {place} lists no release")
        return finals[-1].build_release(backend)
    series = [
        offer for offer in finals if Version(offer.version).release[:2] == _parse_series(text)
    ]
    if not series:
        raise UsageError(
            f"the index lists no torch {text} for this machine; `bugreport releases --offered`"
            " shows what it has"
        )
    return series[-1].build_release(backend)


def _parse_series(text: str) -> tuple[int, ...]:
    return Version(text).release[:2]


def is_word(text: str) -> bool:
    """Whether `--torch TEXT` has to be looked up: a word, or a series such as 2.6."""
    return text in ("latest", "nightly") or _SERIES.fullmatch(text) is not None


def select_offers(listed: Iterable[Offer], first: str, last: str) -> tuple[Offer, ...]:
    """The offers from one version to the other, oldest first; one for each public version.

    Args:
        listed: as `fetch_offers` returns them; of two with one public version the later one counts.
        first, last: both included; a local part such as `+cpu` does not count.
    """
    low, high = Version(strip_local_part(first)), Version(strip_local_part(last))
    found: dict[Version, Offer] = {}
    for offer in listed:
        version = Version(strip_local_part(offer.version))
        if low <= version <= high:
            found[version] = offer
    return tuple(found[version] for version in sorted(found))


def remember(store: sqlite3.Connection, listed: Iterable[Offer]) -> tuple[Offer, ...]:
    """The builds that an index lists now together with those it listed before, oldest first; the
    latter are installed by address.
    """
    listed = tuple(listed)
    indexes = {offer.index for offer in listed}
    with open_transaction(store):
        for offer in listed:
            store.execute(
                "INSERT OR REPLACE INTO offers (place, version, pythons, url) VALUES (?, ?, ?, ?)",
                (offer.index, offer.version, json.dumps(offer.pythons), offer.url),
            )
    known = {(offer.index, offer.version): offer for offer in listed}
    for place in indexes:
        for row in store.execute("SELECT * FROM offers WHERE place = ?", (place,)):
            pythons = tuple((major, minor) for major, minor in json.loads(row["pythons"]))
            offer = Offer(row["version"], pythons, place, row["url"], is_listed=False)
            known.setdefault((place, offer.version), offer)
    return tuple(sorted(known.values(), key=lambda offer: Version(offer.version)))
