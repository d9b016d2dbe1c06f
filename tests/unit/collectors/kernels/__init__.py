"""Tests of `collectors.kernels`, as far as they need no torch."""
