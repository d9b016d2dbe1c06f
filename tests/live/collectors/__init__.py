"""The target side, with torch in the test process or in a recorded program."""
