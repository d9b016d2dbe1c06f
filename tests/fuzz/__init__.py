"""Parsers of what others wrote, under Hypothesis; `make fuzz` runs them for ten minutes."""
