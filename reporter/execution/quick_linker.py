"""A linker that is quicker than the usual one, for kernels of candidates.

GNU ld reads the symbol tables of torch's libraries, a quarter of a second for each small kernel,
where gold takes a tenth of one. gcc looks for `ld` in the folders of `COMPILER_PATH` first
(https://gcc.gnu.org/onlinedocs/gcc/Environment-Variables.html). Fresh processes, whose results are
reported, have the linker of the user.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

#: The variable that says where gcc finds its tools.
TOOLS_PATH = "COMPILER_PATH"
_QUICK = "ld.gold"


def choose_quick_linker(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The variables that make gcc take the quick linker; none where the machine has none, or the
    user has chosen gcc's tools.

    Args:
        environment: that of the processes which compile.
        folder: gets a link to the linker.
    """
    linker = shutil.which(_QUICK, path=environment.get("PATH"))
    if linker is None or TOOLS_PATH in environment:
        return {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / "ld"
        if not link.is_symlink():
            link.symlink_to(os.path.realpath(linker))
    except OSError:  # it costs time, not the run
        return {}
    return {TOOLS_PATH: str(folder)}
