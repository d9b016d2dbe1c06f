import torch

def fn(x):
    x = torch.nn.functional.interpolate(x, scale_factor=1.3, mode='nearest')
    return x
x1 = torch.tensor([[[[1.0, 2.0]]]], dtype=torch.float64)
x2 = torch.tensor([[[[1.0, 2.0]]]], dtype=torch.float64)

cfunc = torch.compile(fn, backend='aot_eager')
out1 = fn(x1)
print(out1)
'''
tensor([[[[1., 2.]]]], dtype=torch.float64)
'''
out2 = cfunc(x2)
print(out2)
'''
tensor([[[[1., 1.]]]], dtype=torch.float64)
'''

torch.testing.assert_close(out1, out2, equal_nan=True)
