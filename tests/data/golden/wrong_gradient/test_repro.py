import torch
import torch._functorch.config
import torch.nn.functional as F
from torch._dynamo.utils import same

torch._functorch.config.activation_memory_budget = 0.0


def repro(x):
    return F.dropout(x)


def inputs():
    return (torch.randn(1).requires_grad_(),)


def run(compile, double=False):
    torch.manual_seed(0)
    model = repro
    args = inputs()
    if double:
        args = [
            (
                x.detach().double().requires_grad_(x.requires_grad)
                if x.is_floating_point()
                else x
            )
            for x in args
        ]
    out = compile(model)(*args)
    outs = [
        o
        for o in (out if isinstance(out, (tuple, list)) else [out])
        if isinstance(o, torch.Tensor) and o.requires_grad
    ]
    sum(o.sum() for o in outs).backward()
    return [x.grad for x in args if x.requires_grad and x.grad is not None]


try:
    from torch._dynamo.test_case import run_tests, TestCase
except ImportError:
    # torch's helpers need expecttest, which a plain install does not have
    from unittest import main as run_tests, TestCase


class TestRepro(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def test_wrong_gradient_dropout(self):
        """The compiled backward pass returns wrong gradients."""
        try:
            expected = run(lambda model: model)
        except Exception as error:
            self.skipTest(f"eager fails here: {error}")
        actual = run(lambda model: torch.compile(model, backend="aot_eager"))
        exact = run(lambda model: model, double=True)
        for e, a, x in zip(expected, actual, exact):
            off = [
                (t.double() - x.double()).square().mean().sqrt().item() for t in (e, a)
            ]
            self.assertTrue(
                same(e, a, fp64_ref=x, equal_nan=True),
                f"wrong gradient: eager is off by {off[0]:.4g} from float64, compiled by {off[1]:.4g}",
            )


if __name__ == "__main__":
    run_tests()
