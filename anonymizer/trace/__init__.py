"""A whole traced call as plain data: operations inside the module calls that made them.

Rooms above and `reporter` may import all of it. It says who reads and who owns what, and never how
any of it is written.
"""
