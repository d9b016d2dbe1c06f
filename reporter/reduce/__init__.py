"""The search for the smallest program that still shows the signature, by nothing but complete
candidate texts.

Rooms above may import it; the search starts in `rounds`. It never accepts a candidate that shows
another failure.
"""
