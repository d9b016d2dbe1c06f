"""What torch's own debugging tools say of a failure: of the public repro for the report, of the private call for its owner.

The two never mix. A trace of the private program holds the model, so all of it stays in `private/evidence/`; what the
issue quotes was measured on the final text of the repro, in a process that never saw anything else.
"""

from __future__ import annotations
