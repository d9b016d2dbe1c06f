"""Tests of `templates` that ask a real torch."""
