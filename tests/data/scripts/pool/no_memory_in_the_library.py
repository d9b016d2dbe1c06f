# What the C++ library says before it aborts.
import os
import sys

sys.stderr.write("terminate called after throwing an instance of std::bad_alloc")
sys.stderr.flush()
os.abort()
