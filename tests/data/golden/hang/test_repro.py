import torch


def custom_backend(gm, example_inputs):
    while (value1.target for value1 in gm.graph.nodes):
        pass
    return gm


def repro(x):
    return torch.cumsum(x, 0)


def inputs():
    return (torch.randn(1),)


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

    def test_hang_cumsum(self):
        """The compiled call does not end."""
        try:
            run(lambda model: model)
        except Exception as error:
            self.skipTest(f"eager fails here: {error}")
        run(lambda model: torch.compile(model, backend=custom_backend))


if __name__ == "__main__":
    run_tests()
