"""Tests of reporter.evidence that need no torch."""
