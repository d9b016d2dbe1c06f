"""Processes of a real interpreter: workers, preloaded ones and fresh ones."""
