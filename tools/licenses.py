"""The licenses of everything that an installation of the tool brings with it, as a table.

`python tools/licenses.py` asks the metadata of what is installed in its own interpreter.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata

from packaging.requirements import Requirement

_LONGEST = 40


def main() -> None:
    """Prints name, version and license of each distribution, in the order of their names."""
    rows = [(name, *read_facts(name)) for name in sorted(list_needed("torch-bugreport"))]
    widths = [max(len(row[at]) for row in rows) for at in range(2)]
    for name, version, license in rows:
        print(f"{name:{widths[0]}}  {version:{widths[1]}}  {license}")
    unknown = [name for name, _, license in rows if not license]
    if unknown:
        sys.exit(f"no license is stated by: {', '.join(unknown)}")


def list_needed(root: str) -> set[str]:
    """What a distribution requires without its extras, and what that requires, without itself."""
    found: set[str] = set()
    waiting = [(root, frozenset({""}))]
    while waiting:
        name, extras = waiting.pop()
        for text in metadata.requires(name) or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                key = re.sub(r"[-_.]+", "-", requirement.name).lower()
                if key not in found:
                    found.add(key)
                    waiting.append((key, frozenset({"", *requirement.extras})))
    return found


def read_facts(name: str) -> tuple[str, str]:
    """Version and license of a distribution, the latter as its metadata have it."""
    about = metadata.metadata(name)
    classifiers = about.get_all("Classifier") or []
    stated = [
        line.rpartition(" :: ")[2]
        for line in classifiers
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    ]
    text = about.get("License-Expression") or ""
    text = text or " or ".join(stated) or (about.get("License") or "").split("\n")[0]
    return metadata.version(name), text[:_LONGEST]


if __name__ == "__main__":
    main()
