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

    def test_wrong_result_mul(self):
        """The compiled call returns wrong values without an error."""

        def fn(x, y):
            x.mul_(3)
            return y[0]

        torch.manual_seed(0)
        x = torch.randn(3, 4)
        y = x[2:5]
        torch.testing.assert_close(torch.compile(fn)(x, y), fn(x, y))


if __name__ == "__main__":
    run_tests()
