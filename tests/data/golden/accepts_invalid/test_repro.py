import unittest

import torch

try:
    from torch._inductor.test_case import run_tests, TestCase
except ImportError:
    # torch's helpers need expecttest, which a plain install does not have
    from unittest import main as run_tests, TestCase


class TestRepro(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def test_accepts_invalid_addmm(self):
        """Eager refuses the call with RuntimeError; the compiled call returns a result."""

        def fn(x, y, z):
            return torch.addmm(x, y, z)

        with unittest.TestCase().assertRaises(Exception):
            torch.compile(fn)(torch.ones(2, 1), torch.ones(1, 2), torch.ones(2, 1))


if __name__ == "__main__":
    run_tests()
