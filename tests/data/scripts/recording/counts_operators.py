import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Functions(TorchFunctionMode):
    count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        Functions.count += 1
        return func(*args, **(kwargs or {}))


class Operators(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Operators.count += 1
        return func(*args, **(kwargs or {}))


x = torch.ones(3, requires_grad=True)
add = torch.compile(lambda x: x + 1, backend="eager")
with Operators():
    y = add(x)
    y.backward(torch.ones(3))
with Functions():
    add(x)
print(Operators.count, Functions.count)
