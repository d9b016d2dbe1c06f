# Loads the product's module by its location, given as the first argument, as it is loaded in a user's interpreter.
import importlib
import json
import os
import sys
import types

import torch

package = types.ModuleType("_probe")
package.__path__ = [sys.argv[1]]
sys.modules["_probe"] = package
module = importlib.import_module("_probe.machine.environment")
hardware = importlib.import_module("_probe.machine.hardware")
limit = hardware.SUBPROCESS_SECONDS
hardware.SUBPROCESS_SECONDS = 300.0  # however slow this machine is now, its compilers get to say their version

programs = []
sys.addaudithook(
    lambda event, told: event == "subprocess.Popen"
    and programs.append(os.path.basename(str(told[0])))
)


def measured(function):
    """What a function returns, with what its time depends on but for the machine: its calls, and the programs it starts."""
    calls, programs[:] = 0, []

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        value = function()
    finally:
        sys.setprofile(None)
    return value, {"calls": calls, "programs": list(programs), "limit": limit}


