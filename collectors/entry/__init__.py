"""The files that the host or the user's program starts by location; they load the collectors under
a private name.

Only `hook` imports them. They never put a folder of ours on `sys.path`.
"""
