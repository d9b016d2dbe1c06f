"""The outgoing issue against the receiving side's published rules: what would get it closed, said
before it is sent.

Rooms above may import `linter`, which applies every rule, `subject`, the texts of a report, and
`rule` for the weight of a violation, and `safety_list`, what a program may not do. It
never changes the text that it judges.
"""
