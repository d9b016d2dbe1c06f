import torch


@torch.library.custom_op("mylib::reverse_into", mutates_args=("dst",))
def reverse_into(src: torch.Tensor, dst: torch.Tensor) -> None:
    n = src.shape[0]
    for k in range(n):
        dst[n - 1 - k] = src[k]


def f(x):
    y = x.clone()
    reverse_into(y, x)
    return x * 2.0


x = torch.arange(8.0)
a, b = x.clone(), x.clone()
f(a)
torch.compile(f)(b)
print(a.tolist())
print(b.tolist())
