"""Scripts that fail in a Triton kernel of their own: verdict, repro and report without a GPU.

Rooms above may import it; the stages of a kernel call one module each. It never claims what only a
GPU can show.
"""
