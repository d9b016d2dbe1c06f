"""The search of outgoing bytes for private words, numbers, paths and secrets.

Rooms above and `reporter` may import it; `scanner` does it. It never removes anything: what it
cannot vouch for is not written out.
"""
