"""A whole traced call as plain data: operations inside the module calls that made them.

`anonymizer.model`, `anonymizer.numbers` and `reporter` import it. It says who reads and who owns
what, and leaves open how any of it is written.
"""
