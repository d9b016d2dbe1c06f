"""What runs in the user's interpreter: it records a program's compiled calls, repeats them and runs
candidates.

It needs the standard library and torch 2.0 or newer, and stays readable for Python 3.9. The host
loads it by location under a private name (`entry`), so nothing of the user's own is shadowed. It
never imports the host's packages.
"""

import os

#: Where this package lies, with a separator at its end: frames of files below it are not the
#: user's.
FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
