import torch

class MyCube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x ** 3
        dx = 3 * x ** 2
        ctx.save_for_backward(x, dx)
        return result, dx


    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        result = grad_output * dx + grad_dx * 6 * x
        return result

def fn(x):
  x, _ = MyCube.apply(x)
  x, _ = MyCube.apply(x)
  return x

fn = torch.compile(fn, fullgraph=True)

input = torch.ones(2, requires_grad = True)
y = fn(input)
print(y)
