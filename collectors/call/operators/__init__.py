"""Operators of a program that compiles nothing: each one checked, and one call as a graph."""
