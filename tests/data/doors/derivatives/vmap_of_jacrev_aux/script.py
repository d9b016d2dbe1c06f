import torch

burgers_viscosity = 0.07

def phi_fn(x, time):
    denominator = 4*burgers_viscosity*(time+1)
    return torch.exp(-torch.square(x - 4*time)/denominator) + torch.exp(-torch.square(x - 4*time - 2*torch.pi)/denominator)

def fn(x, time):
    grad_res, res = torch.func.jacrev(lambda x: tuple([phi_fn(x, time)]*2), has_aux=True)(x+torch.pi)
    return -(2*burgers_viscosity/res)*grad_res + 4

xvals = torch.linspace(-torch.pi, torch.pi, 128, dtype=torch.float64)
tval = torch.tensor(0.5, dtype=torch.float64)
vfn = torch.vmap(fn, in_dims=(0, None))
ref = vfn(xvals, tval)
out = torch.compile(vfn, fullgraph=True)(xvals, tval)
print(ref.shape, out.shape)
torch.testing.assert_close(out, ref)
