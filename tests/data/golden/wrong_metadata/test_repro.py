import torch


def repro(x):
    return torch.any(x)


def inputs():
    return (torch.randint(0, 1, (1,), dtype=torch.uint8),)


def run(compile):
    torch.manual_seed(0)
    model = repro
    args = inputs()
    out = compile(model)(*args)
    return out if isinstance(out, (tuple, list)) else [out]


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
        try:
            expected = run(lambda model: model)
        except Exception as error:
            self.skipTest(f"eager fails here: {error}")
        actual = run(lambda model: torch.compile(model))
        for e, a in zip(expected, actual):
            if isinstance(e, torch.Tensor):
                self.assertTrue(
                    e.dtype == a.dtype,
                    f"wrong metadata: dtype is {e.dtype} in eager, {a.dtype} compiled",
                )


if __name__ == "__main__":
    run_tests()
