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

    def test_process_death_getitem(self):
        """The compiled call ends the process with SIGABRT."""

        def fn(x, y):
            return x[y]

        try:
            torch.compile(fn)(torch.arange(4.0).reshape(2, 2), torch.arange(625))
        except Exception:
            pass


if __name__ == "__main__":
    run_tests()
