"""The issue tracker: one session, one issue per report, and what others have already said of the
same bug.

The commands `file` and `sync`, `triage` and `check` import it. Its tokens never reach another
process, and nothing is sent without a yes.
"""
