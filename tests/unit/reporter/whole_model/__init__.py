"""A program that is reported as a whole."""
