"""Tests of `reporter.cli`."""
