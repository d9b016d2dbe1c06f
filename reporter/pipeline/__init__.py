"""The commands on one program from beginning to end: `create`, `diagnose`, `anonymize`, `evidence`,
`replay`.

`triage` and the command line import them. It orders the stages and hands on what
each of them found; the work of a stage is in the rooms below.
"""
