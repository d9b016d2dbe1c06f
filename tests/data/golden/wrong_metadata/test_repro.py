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

    def test_wrong_metadata_any(self):
        """The compiled result has another dtype than eager's."""

        def fn(x):
            return torch.any(x)

        x = torch.zeros(1, dtype=torch.uint8)
        torch.testing.assert_close(torch.compile(fn)(x), fn(x))


if __name__ == "__main__":
    run_tests()
