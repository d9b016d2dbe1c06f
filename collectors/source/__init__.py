"""The text of the program behind a call: its functions, classes and values, and what in it is
whose.

`record` imports it. It never executes what it reads.
"""
