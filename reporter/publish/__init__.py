"""What leaves the machine: the documents rendered from one result, searched for private words,
written as a whole or not at all.

The pipelines import `write`, later commands `rerender` and `recheck`. It never renders from
anything but public data.
"""
