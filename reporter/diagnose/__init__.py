"""From what was measured to what it means: the ladder measures, the judge decides."""
