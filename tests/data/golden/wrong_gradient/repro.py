import torch
import torch._functorch.config
import torch.nn.functional as F

torch._functorch.config.activation_memory_budget = 0.0


def fn(x):
    return F.dropout(x)


torch.manual_seed(0)
x = torch.randn(1, requires_grad=True)
torch.manual_seed(2)
fn(x).sum().backward()
expected, x.grad = x.grad, None
torch.manual_seed(2)
torch.compile(fn, backend="aot_eager")(x).sum().backward()
torch.testing.assert_close(x.grad, expected)
