"""What else there is to say of a finding: the pass or operator at fault, where values part, graph
breaks, guards.

The pipelines import `gather`, and the experiments that the reduced repro takes part in. The rooms
that reach the verdict do not know it.
"""
