"""What a stranger wrote in an issue, judged as the tool judges the user's own scripts, in a
sandbox.

Rooms above may import it; one issue goes through `triage`. It never runs a stranger's program on
the host, and answers on a tracker only through `tracker`.
"""
