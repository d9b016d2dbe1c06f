"""Processes of the user's interpreter: finding it, starting it, warm workers, fresh processes,
caches and the journal.

Rooms above may import all of it. It never reads a verdict out of what a process answered.
"""
