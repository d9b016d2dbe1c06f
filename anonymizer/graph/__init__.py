"""A captured graph as plain data with generated names, and the repro text of it.

The rooms above and `reporter` import it. It never sees a name of the private program.
"""
