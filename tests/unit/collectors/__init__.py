"""The parts of the target side that need no torch."""
