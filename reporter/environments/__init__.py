"""Interpreters with other torch releases: what an index offers, which Python fits, installing,
keeping and pruning.

Rooms above may import it; an environment is made by `Environments.provide`. It never runs a repro.
"""
