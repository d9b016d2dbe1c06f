"""Sizes and numbers of the private model replaced by others that still fit together.

`reporter` may import all of it. It never keeps a private size that the failure does not need.
"""
