"""A whole traced model as a program of stock layers and generic blocks.

`reporter.whole_model` imports `model` and `non_stock`. It takes over structure and operators, never
a name or a number that is not allowed.
"""
