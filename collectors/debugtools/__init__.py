"""Torch's own debugging tools, switched on in a process that was made for it, and what they wrote,
as data.

Each module wraps one tool; one that this release lacks is skipped with the reason. Rooms above
import `run`, which starts a session of them, and the type of the session from `tool`. None is ever
switched on in the user's process: the private call is repeated in a fork of the recorded moment,
the public repro runs in a fresh process, so nothing that is collected here can change a verdict.
"""
