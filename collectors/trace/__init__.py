"""The whole call as operations inside module calls, by torch's function modes, and the proof that a
rewrite does the same.

Rooms above may import it; the trace is made in `trace`, the proof in `equivalence`. It never keeps
a tensor's values beyond their statistics.
"""
