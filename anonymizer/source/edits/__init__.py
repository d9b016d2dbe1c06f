"""The single edits of source reduction: each yields changed copies of a program.

`anonymizer.source.reduce` imports `passes`, and single edits. An edit knows where it applies, and
never whether the result still fails.
"""
