"""Gathered values as expressions of the public program, with the classes and functions they need.

`anonymizer.source.rewrite` and `anonymizer.source.paths` import `values` and `context`. A value is
built from its record alone; what has no public form is noted as a problem and never copied.
"""
