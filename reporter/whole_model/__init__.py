"""The whole model in public parts, for `anonymize`: from its trace, from its source, with sizes and
numbers of our own.

Rooms above may import it: `traced_model` and `source_model`, two ways to one end. It never shortens
what it rewrites; that is the work of `reduce`.
"""
