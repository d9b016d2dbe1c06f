"""The watching of a program: hooks on torch.compile, the recorder, the fork server of a call, and
its re-run where no fork is possible.

Rooms above may import it. It never changes what the program sees or returns.
"""
