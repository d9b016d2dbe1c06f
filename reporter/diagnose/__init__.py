"""From what was measured to what it means: the ladder of backends measures, the judge decides, the
culprit search narrows.

Rooms above may import it; a verdict starts in `judge`, what is said beside it in `details`, and
`script_reruns` runs a script once more that fails beside its compiled calls. It never writes a
report.
"""
