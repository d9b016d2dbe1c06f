"""Interpreters with other torch releases: what an index offers, which Python fits, installing,
keeping and pruning.

`check` and the commands that name a release import it. It never runs a repro.
"""
