"""Tests of `templates`."""
