"""The tests of `reporter.triage`, by module."""
