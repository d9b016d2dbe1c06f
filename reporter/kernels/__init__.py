"""Scripts that fail in a Triton kernel of their own: verdict, repro and report without a GPU.

The pipeline imports `create`. It never claims what only a GPU can show.
"""
