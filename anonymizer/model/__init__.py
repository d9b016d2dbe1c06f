"""A whole traced model as a program of stock layers and generic blocks.

Rooms above and `reporter` may import `model` and `non_stock_operations`. It takes over structure
and operators, never a name or a number that is not allowed.
"""
