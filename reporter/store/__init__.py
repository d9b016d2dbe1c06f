"""What outlives a command: one SQLite file per user, which knows the reports written, where they were filed, and every check of a repro."""
