"""What torch's own debugging tools say: of the public repro for the report, of the private call for
its owner.

The pipelines import it. The two never mix: a trace of the private program holds the model and stays
in `private/evidence/`.
"""
