"""The body of one block as Python: its statements, its variables, its loops.

`anonymizer.model` imports `body_writer` and `context`, and the wording it shares with them:
`attributes` and `phrases`. A body knows its own block alone, and never what another block is
called: that it asks of the model by `ModelNames`.
"""
