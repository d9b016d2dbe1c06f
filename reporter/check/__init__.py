"""Does it still fail, and where: plans of repros times releases, shards and clusters, and
notices to issues.

The command line imports it. It never judges without the signature that a repro first showed.
"""
