"""The other side of the desk: what a stranger wrote in an issue, judged as the tool judges the user's own scripts, in a sandbox."""
