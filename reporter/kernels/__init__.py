"""Scripts that fail in a Triton kernel of their own: verdict, repro and report without a GPU."""

from __future__ import annotations
