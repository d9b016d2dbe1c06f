"""What a call can reach of Python's state: noted before and after it, and put back.

The rest of `collectors.call` imports it, and `collectors.record`. It looks at what is there and
runs nothing of the program's on purpose; it never says what a difference means.
"""
