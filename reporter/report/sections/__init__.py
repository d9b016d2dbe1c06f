"""The documents that the tool writes as JSON, section by section: report.json and that of `check`.

A run ends in a `Report`, and everything else in its folder (issue, page, test) is rendered from
that, so no two of them can disagree. These types are what a reader may rely on: documents are
written from them and read into them, and the JSON Schemas in `schema` are made from them.
Keys that a release does not know are passed over, so a reader of a version reads all of it.
Errors are absolute; times are wall seconds; `seconds` is of what the section describes.

`reporter.report` and the rooms above import it. Of the rooms of `reporter` it imports `core` alone,
and it never reads a file.
"""
