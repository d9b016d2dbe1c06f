"""Where did it change: the first release, then the first nightly, that broke or fixed a repro.

Rooms above may import it; the search starts in `bisect.bisect`. It asks `check` for each point, and
never guesses between two of them.
"""
