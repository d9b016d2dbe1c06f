"""From a script, a notebook, a test or a running program to recorded calls that can be repeated.

Rooms above may import it; they see `findings` and ask a `call_session`. It says which calls differ
from eager; what a difference means is for `diagnose`.
"""
