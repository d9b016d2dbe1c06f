import torch

try:
    from torch._dynamo.test_case import run_tests, TestCase
except ImportError:
    # torch's helpers need expecttest, which a plain install does not have
    from unittest import main as run_tests, TestCase


class TestRepro(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def test_hang_cumsum(self):
        """The compiled call does not end."""

        def custom_backend(gm, example_inputs):
            while any((value1.target is torch.cumsum for value1 in gm.graph.nodes)):
                pass
            return gm

        def fn(x):
            return torch.cumsum(x, 0)

        torch.manual_seed(0)
        torch.compile(fn, backend=custom_backend)(torch.randn(1))


if __name__ == "__main__":
    run_tests()
