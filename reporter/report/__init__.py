"""A report as data: the captured call, the document and its sections, its folder, its fingerprint.

Rooms above may import all of it; what is read from a report.json comes as `Report` of
`sections.report_document`. Of the rooms of `reporter` it imports `core` alone, and it never
renders, judges or sends anything.
"""
