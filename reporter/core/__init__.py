"""What every stage shares: settings, errors, progress, and the plain data of a run (signature,
answer, candidate).

Every room above may import all of it. It imports no other room and never starts a process.
"""
