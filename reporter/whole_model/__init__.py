"""The whole model in public parts, for `anonymize`: from its trace, from its source, with sizes and
numbers of our own.

The pipelines import it. It never shortens what it rewrites; that is the work of `reduce`.
"""
