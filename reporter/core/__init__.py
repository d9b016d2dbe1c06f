"""What every stage shares: settings, errors, progress, and the plain data of a run (signature,
report, candidate, recorded call).

Every room above may import it. It imports no other room, starts no process and never decides
anything.
"""
