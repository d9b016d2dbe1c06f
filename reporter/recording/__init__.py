"""From a script, a notebook, a test or a running program to recorded calls that can be repeated.

`diagnose` and the pipelines import its sessions and findings. It says which calls differ from
eager; what a difference means is for `diagnose`.
"""
