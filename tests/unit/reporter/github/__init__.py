"""Tests of `reporter.github`."""
