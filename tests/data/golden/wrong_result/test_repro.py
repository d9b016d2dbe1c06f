import torch
from torch._dynamo.utils import same


def repro(x, y):
    x.mul_(3)
    return y[0]


def inputs():
    x = torch.randn(3, 4)
    y = x[2:5]
    return (
        x,
        y,
    )


def run(compile):
    torch.manual_seed(0)
    model = repro
    args = inputs()
    out = compile(model)(*args)
    return out if isinstance(out, (tuple, list)) else [out]


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
        try:
            expected = run(lambda model: model)
        except Exception as error:
            self.skipTest(f"eager fails here: {error}")
        actual = run(lambda model: torch.compile(model))
        for e, a in zip(expected, actual):
            error = (a.double() - e.double()).abs().max().item()
            self.assertTrue(
                same(e, a, equal_nan=True),
                f"wrong result: max abs error {error:.4g} against eager",
            )


if __name__ == "__main__":
    run_tests()
