import torch
import torch._functorch.config
import torch.nn.functional as F

try:
    from torch._dynamo.test_case import run_tests, TestCase
except ImportError:
    # torch's helpers need expecttest, which a plain install does not have
    from unittest import main as run_tests, TestCase


class TestRepro(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    @torch._functorch.config.patch({"activation_memory_budget": 0.0})
    def test_wrong_gradient_dropout(self):
        """The compiled backward pass returns wrong gradients."""

        def fn(x):
            return F.dropout(x)

        torch.manual_seed(0)
        x = torch.randn(1, requires_grad=True)
        torch.manual_seed(2)
        fn(x).sum().backward()
        expected, x.grad = (x.grad, None)
        torch.manual_seed(2)
        torch.compile(fn, backend="aot_eager")(x).sum().backward()
        torch.testing.assert_close(x.grad, expected)


if __name__ == "__main__":
    run_tests()
