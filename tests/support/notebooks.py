"""Notebooks for tests, written the way Jupyter writes them."""

from __future__ import annotations

import json
from pathlib import Path


def notebook(path: Path, *cells: str, language: str = "python", version: int = 4) -> Path:
    """A notebook of code cells; `md: …` is a Markdown cell, `[tag] …` a code cell with that tag."""
    entries = []
    for text in cells:
        kind, tags = "code", []
        if text.startswith("md: "):
            kind, text = "markdown", text[4:]
        elif text.startswith("["):
            tag, _, text = text[1:].partition("] ")
            tags = [tag]
        entry: dict[str, object] = {
            "cell_type": kind,
            "metadata": {"tags": tags} if tags else {},
            "source": text.splitlines(keepends=True),
        }
        entries.append(entry | ({"outputs": [], "execution_count": None} if kind == "code" else {}))
    document = {
        "cells": entries,
        "metadata": {"language_info": {"name": language}},
        "nbformat": version,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(document))
    return path
