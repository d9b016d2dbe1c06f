"""The outgoing issue against the receiving side's published rules: what would get it closed, said
before it is sent.

Rooms above may import it; `run` applies every rule. It never changes the text that it judges.
"""
