"""A reduced program as a core developer of PyTorch writes it: flat statements and one comparison.

Rooms above and `reporter` may import it. It imports `graph`, and never runs anything: which of the
forms still shows the failure is for fresh processes to say.
"""
