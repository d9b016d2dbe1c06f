"""Tests that ask a real torch, through the warm interpreter."""
