"""The harness: the text around a candidate while it is made smaller.

Rooms above and `reporter` may import `text`. It never judges: it writes what the user's interpreter
runs.
"""
