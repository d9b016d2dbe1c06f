"""What torch's own debugging tools say: of the public repro for the report, of the private call for
its owner.

Rooms above may import it: `repro_evidence` for the report, `call_evidence` for the owner. The two
never mix: a trace of the private program holds the model and stays in `private/evidence/`.
"""
