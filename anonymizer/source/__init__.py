"""The program's own source rewritten: private classes, functions and values become public ones,
statement by statement.

`reporter` imports `rewrite` and `reduce`. What has no public equivalent is never copied; the
rewriting ends instead.
"""
