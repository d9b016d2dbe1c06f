"""Scripts that fail in a Triton kernel of their own: verdict, repro and report without a GPU.

`reporter.pipeline` may import it: `questions`, `verdict`, `search`, `reduce` and `report` for a
kernel of the script, `inductor_kernels` for those that inductor makes. It never claims
what only a GPU can show.
"""
