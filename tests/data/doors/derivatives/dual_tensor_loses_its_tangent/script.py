import torch
import torch.autograd.forward_ad as fwAD


def fn(x):
    return (x**2).sum()


def jvp(f, x, v):
    with fwAD.dual_level():
        out = f(fwAD.make_dual(x, v))
        return fwAD.unpack_dual(out).tangent


x, v = torch.tensor([0.1, 0.2, 0.3]), torch.ones(3)
expected = jvp(fn, x, v)
actual = jvp(torch.compile(fn), x, v)
print(expected, actual)
assert actual is not None and torch.allclose(actual, expected)
