import torch

@torch.compile
def f(*args):
    sym_5, sym_6, sym_7, sym_8 = args

    var_714 = torch.ops.aten.fft_fftfreq(n=sym_5, d=sym_6, pin_memory=sym_7)
    return torch.ops.aten.linalg_tensorinv(self=var_714, ind=sym_8)

res = f(1, 1.0, 0, 1)
print(res)
