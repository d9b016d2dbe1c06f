"""What outlives a command: one SQLite file per user with the reports written, where they were
filed, and every check and triage.

Rooms above may import it; `database` opens the file. It imports `core` and `report`, and never
holds a word of a private program.
"""
