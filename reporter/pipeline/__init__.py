"""The commands on one program from beginning to end: `create`, `diagnose`, `anonymize`, `evidence`,
`replay`.

`triage` and the command line import them. A stage's own work is never done here.
"""
