"""Gathered values as expressions of the public program, with the classes and functions they need.

The modules of `anonymizer.source` above import it: `values` and `context` to write values, `ties`,
`tensors` and `syntax` for the inputs of the program. A value is built from its record alone; what
has no public form is noted as a problem and never copied.
"""
