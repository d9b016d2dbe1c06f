"""Candidates: complete repro texts that are run in forks of a warm process, and what came of each.

Rooms above may import it; what runs one candidate is `candidate`. It never knows what a candidate
is for.
"""
