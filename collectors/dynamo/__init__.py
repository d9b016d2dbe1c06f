"""What the compiler makes of a call: captured graphs, guards, graph breaks, and where eager and
compiled part.

Rooms above may import all of it. It never changes the call that it observes.
"""
