"""What an issue says: its thread, the blocks of code in it, the program they make, and the failure
that is stated.

The rest of `triage` and `check` import it. It reads text alone, and never runs any of it.
"""
