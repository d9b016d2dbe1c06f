"""A captured graph as plain data with generated names, and the repro text of it.

Rooms above and `reporter` may import all of it. It never sees a name of the private program.
"""
