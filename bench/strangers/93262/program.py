import torch

def fn(input):
    return torch.nn.functional.interpolate(input, size=[1, 1], mode="bilinear")
    # works fine if `mode` is set to other values such as "nearest" and "bicubic"

x = torch.rand([2, 8, 7, 10])
ret_eager = fn(x)

compiled = torch.compile(fn)
ret_compiled = compiled(x)

for r1, r2 in zip(ret_eager, ret_compiled):
    assert torch.allclose(r1, r2), (r1, r2)
print('==== Check OK! ====')
