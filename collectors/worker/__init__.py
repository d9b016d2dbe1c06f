"""Candidates: complete repro texts that are run in forks of a warm process, and what came of each.

`entry` and `record` import it. It never knows what a candidate is for.
"""
