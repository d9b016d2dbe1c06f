"""The issue tracker: one session, one issue per report, and what others have already said of the
same bug.

Rooms above may import it; every request goes through `http_session`. Its tokens never reach another
process, and nothing is sent without a yes.
"""
