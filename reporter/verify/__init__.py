"""What the smallest program is asked once it is found: the plainest text that shows the failure,
every backend, and the programs next to it.

Rooms above may import all of it. It never changes what fails: what it leaves out of the
program is left out for the sake of the text.
"""
