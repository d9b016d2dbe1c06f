"""Tests of `reporter.kernels`."""
