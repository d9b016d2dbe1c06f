"""Tests of `reporter.store`."""
