import torch


class Uncopied(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.clone:
            raise RuntimeError("no copies of this")
        return super().__torch_function__(function, types, args, kwargs or {})


class Give(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient.as_subclass(Uncopied)


x = torch.ones(3, requires_grad=True)
double = torch.compile(lambda x: x * 2, backend="eager")
Give.apply(double(x)).sum().backward()
print(x.grad.tolist())
