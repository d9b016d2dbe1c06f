"""What several measurements share; nothing here is one.

The scripts beside it import it, and it imports nothing of the project.
"""
