"""The outgoing issue against the receiving side's published rules: what would get it closed, said
before it is sent.

`publish`, `tracker` and the command `lint` import it. It never changes the text that it judges.
"""
