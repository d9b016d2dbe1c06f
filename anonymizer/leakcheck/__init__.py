"""The search of outgoing bytes for private words, numbers, paths and secrets.

`reporter.publish` imports `audit`. It never removes anything: what it cannot vouch for is not
written out.
"""
