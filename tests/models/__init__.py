"""Models that somebody else wrote; they need an interpreter with transformers."""
