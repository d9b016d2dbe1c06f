"""Tests that start no process with torch."""
