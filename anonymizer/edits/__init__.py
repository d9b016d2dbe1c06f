"""The edits that make rewritten source smaller: each yields changed copies of a program.

`reporter` imports `reduce`, which has them in order; the room imports `source` and what is below
it. An edit knows where it applies, and never whether the result still fails.
"""
