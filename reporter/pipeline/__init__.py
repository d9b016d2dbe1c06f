"""The commands on one program from beginning to end: `create`, `diagnose`, `anonymize`, `evidence`,
`replay`.

Rooms above may import the commands: `create`, `evidence`, `replay`. It orders the stages and hands
on what each of them found; it never does what a room below can.
"""
