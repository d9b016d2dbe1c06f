"""Tests of `anonymizer`."""
