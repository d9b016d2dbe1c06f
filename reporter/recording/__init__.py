"""From a script, a notebook, a test or a running program to recorded calls that can be repeated.

Rooms above may import it; they see `findings` and ask a `call_session`. It says which calls differ
from eager, and never what a difference means, which is for `diagnose`.
"""
