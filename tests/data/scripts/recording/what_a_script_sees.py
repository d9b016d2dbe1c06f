import os
import pickle
import sys

import __main__


class Here:
    pass


print(__name__, sys.argv[1:], os.getcwd(), os.path.basename(sys.path[0]))
print(__main__.__file__ == __file__, __doc__, "torch" in sys.modules)
print(type(pickle.loads(pickle.dumps(Here()))).__name__)
sys.exit(7)
