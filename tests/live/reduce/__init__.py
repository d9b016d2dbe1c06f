"""Candidates in real workers."""
