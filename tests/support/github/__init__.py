"""A GitHub on this machine, somebody who files reports there, and what the ranking of duplicates is
measured on.
"""
