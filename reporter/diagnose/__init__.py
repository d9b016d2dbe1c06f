"""From what was measured to what it means: the ladder of backends measures, the judge decides, the
culprit search narrows.

The pipelines import `judge` and `details`. Nothing here writes a report, and nothing here compares
without a signature.
"""
