"""What a rung changes about the recorded call: its numbers, and what a graph returns.

`collectors.call.rungs` and the rooms above import it. It runs no rung, and never says what a
difference means.
"""
