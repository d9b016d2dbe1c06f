"""What is asked of the smallest program, as questions alone: nothing runs here."""
