"""Tests of `reporter.releases`."""
