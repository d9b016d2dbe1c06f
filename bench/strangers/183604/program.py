import torch

class F1(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b + a + b

    @staticmethod
    def backward(ctx, go):
        a, b = ctx.saved_tensors
        return go * (b + 1), go * (a + 1)

def fn(x):
    return F1.apply(x, x).sum()

x = torch.tensor([0.7, -1.3, 2.1, 0.05, -0.5], requires_grad=True)

fn(x).backward()
ge = x.grad.clone()

x.grad = None

torch._dynamo.reset()
torch.compile(fn, backend="inductor")(x).backward()
gc = x.grad.clone()

print("eager  :", ge.tolist())
print("compile:", gc.tolist())
