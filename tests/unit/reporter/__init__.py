"""Tests of the host side's packages."""
