"""The whole call as operations inside module calls, by torch's function modes, and the proof that a
rewrite does the same.

`source` and `record` import it. It never keeps a tensor's values beyond their statistics.
"""
