"""Reduction: candidates are complete repro texts; this package runs, remembers and shrinks them.

``pool`` runs one candidate and says what happened, ``scheduler`` decides which to run and in what
order the answers count, ``journal`` makes a killed run resumable, ``ddmin`` holds the pure
searches.
"""
