"""Does it still fail, and where: plans of repros times releases, shards and clusters, and
notifications to issues.

Rooms above may import it; one check is `work`, many are `engine` and `plan`. It never judges
without the signature that a repro first showed.
"""
