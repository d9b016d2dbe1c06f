"""Where did it change: the first release, then the first nightly, that broke or fixed a repro.

The command line imports `bisect`. It asks `check` for each point, and never guesses between two of
them.
"""
