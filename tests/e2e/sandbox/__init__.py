"""Foreign code in the real sandbox."""
