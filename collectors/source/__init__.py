"""The text of the program behind a call: its functions, classes and values, and what in it is
whose.

Rooms above may import it; `source.gather` is the whole. It never executes what it reads.
"""
