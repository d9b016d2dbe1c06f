# VERB [OPTION…]: asks for a verdict or a report on a block that raises, and goes on.
import sys

import bugreport
from tallies import fast_tally

found = bugreport.capture(*sys.argv[2:], verb=sys.argv[1])
try:
    with found:
        fast_tally()
except AttributeError:
    print("it goes on", found.exit_code, found.verdict["kind"], found.report is not None)
ours = ("reporter", "collectors", "anonymizer", "templates")
print(sorted(name for name in sys.modules if name.split(".")[0] in ours))
