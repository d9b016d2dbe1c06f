"""Scripts that fail in a Triton kernel of their own: verdict, repro and report without a GPU.

The pipeline imports it. It never claims what only a GPU can show.
"""
