"""One recorded call: how it is made again under a setting, what it returns, raises and changes, and
how results compare.

Rooms above may import all of it. It never talks to the host.
"""
