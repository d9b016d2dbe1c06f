"""Tests that need interpreters with other torch releases."""
