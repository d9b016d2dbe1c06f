"""The issue tracker: one session, one issue per report, and what others have already said of the same bug."""
