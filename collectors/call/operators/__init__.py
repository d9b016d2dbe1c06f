"""Operators of a program that compiles nothing: each one checked, and one call as a graph.

`collectors.record` and `collectors.dynamo` import it. It compares with float64 and with other
layouts; it never compiles, and never says what a difference means.
"""
