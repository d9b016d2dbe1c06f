"""What the smallest program is asked once it is found: the plainest text that shows the failure,
every backend, and the programs next to it.

Rooms above may import all of it. It never makes the program smaller in another way than its text.
"""
