import torch
import torch._dynamo

class Foo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(False)
        return x.sin(), x.sin()
    @staticmethod
    def backward(ctx, grad0, grad1):
        x, = ctx.saved_tensors
        return grad0 * x.cos(), grad1 * x.cos()

@torch.compile(backend='aot_eager', fullgraph=True)
def f(x):
    return Foo.apply(x)

x = torch.randn([1], requires_grad=True)
f(x)
