# What `collectors.notebook`, given by its location, does with a notebook where IPython is not installed.
import importlib.util
import sys
import traceback

location, path, verb = sys.argv[1:]
spec = importlib.util.spec_from_file_location("notebook", location)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.has_ipython = lambda: False
if verb == "survey":
    print(module.survey(path)["problem"])
else:
    try:
        module.run(path, ".", lambda place: print("#", place))
    except ZeroDivisionError:
        traceback.print_exc()
