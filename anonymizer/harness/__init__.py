"""The harness: the text around a candidate while it is made smaller.

Rooms above and `reporter` may import `text`, and `main` for the output that a message names. It
never judges: it writes what the user's interpreter runs.
"""
