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

    def test_crash_foobar(self):
        """Compiling raises LoweringException; eager runs."""

        def fn(x):
            return torch.ops.aten._foobar(x)

        torch.compile(fn)(torch.ones(1))


if __name__ == "__main__":
    run_tests()
