"""A whole script as a public program: which of its statements run before the failing call, and each
of them in public words.

Rooms above and `reporter` may import `public_script`, and for the command line and the processes
of a script `command_line` and `processes`; the other modules are its parts.
Nothing private is ever copied; what has no public form ends the rewriting.
"""
