"""Tests that run the command from its beginning to its end."""
