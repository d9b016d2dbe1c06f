"""The search for the smallest program that still shows the signature, by nothing but complete
candidate texts.

The pipelines import `rounds`, `blockwise` and `contrast`. It never accepts a candidate
that shows another failure.
"""
