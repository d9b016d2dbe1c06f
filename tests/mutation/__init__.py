"""`make mutants`: small faults are put into the product one by one, and each has to make a unit
test fail.
"""
