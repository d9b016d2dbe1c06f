"""The outgoing issue against the receiving side's published rules: what would get it closed, said before it is sent."""
