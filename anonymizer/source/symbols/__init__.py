"""What the names of the gathered program mean, and what they are called in the public one.

The rooms of `anonymizer.source` import it, and `anonymizer.triton` imports `names`. It never
changes a definition: it answers for each name whether it is kept, and its public form where it is
not.
"""
