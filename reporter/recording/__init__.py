"""From a script, a notebook, a test or a running program to recorded calls that can be repeated.

`diagnose` and the pipelines import its sessions and findings. It never judges what a call returned.
"""
