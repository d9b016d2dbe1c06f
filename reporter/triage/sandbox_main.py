"""The entry point of the sandbox: `python sandbox_main.py VERB PYTHON JOBS TIMEOUT MEMORY_GIB`.

It is started by its path, so that nothing but the folder of the tool has to be added to the places
where Python looks for modules. That comes first of all: in the folder of this file lie modules with
names of the standard library's.
"""

import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    from reporter.triage.sandbox_run import main

    main(*sys.argv[1:6])
