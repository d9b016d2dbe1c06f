import sys

from bugreport import loading

print([name for name in sys.modules if name.split(".")[0] == "torch"], loading.must_stand_aside())
