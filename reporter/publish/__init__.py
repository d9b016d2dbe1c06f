"""What leaves the machine: the documents rendered from one result, searched for private words,
written as a whole or not at all.

Rooms above may import it; a report leaves through `report_files`, or again through
`rerendering`. Nothing but the side-by-side page, which stays in `private/`, is rendered from
private data.
"""
