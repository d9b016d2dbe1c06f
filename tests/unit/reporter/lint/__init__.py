"""Tests of `reporter.lint`."""
