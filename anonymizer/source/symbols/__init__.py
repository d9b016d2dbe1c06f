"""What the names of the gathered program mean, and what they are called in the public one.

The rest of `anonymizer.source` imports it; above, `triton_kernel` imports `names`, and
`reporter` the rules of `imports`. It never changes a definition: it answers for each name
whether it is kept, and its public form where it is not.
"""
