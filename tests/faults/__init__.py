"""Faults of the machine and of processes at every stage of a run; `make test-faults` prints the
table.
"""
