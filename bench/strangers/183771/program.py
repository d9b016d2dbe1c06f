import torch
import torch.nn.functional as F

def f(x):
    return F.interpolate(x, size=(5, 6, 7), mode="nearest")

x = torch.randn(2, 5, 2, 3, 2).permute(0, 4, 1, 2, 3)

eager = f(x)
compiled = torch.compile(f, backend="inductor")(x)

print("input_shape:", tuple(x.shape))
print("input_stride:", x.stride())
print("eager_stride:", eager.stride())
print("compiled_stride:", compiled.stride())
print("eager_contiguous:", eager.is_contiguous())
print("compiled_contiguous:", compiled.is_contiguous())
print("values_equal:", torch.equal(eager, compiled))

if torch.equal(eager, compiled) and eager.stride() != compiled.stride():
    raise SystemExit(0)

raise SystemExit(1)
