"""What the compiler makes of a call: captured graphs, guards, graph breaks, and where eager and
compiled part.

`trace`, `debugtools`, `worker` and `record` import it. It never changes the call that it observes.
"""
