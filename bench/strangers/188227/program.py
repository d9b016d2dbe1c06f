# Minimal repro for  crash 31947ae5 (compiled-only: eager OK, inductor crashes)
import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)
t31856 = torch.randn([3, 3], dtype=torch.complex64)

def model_259():
    t31857 = torch.float_power(t31856, 0.024490423949617878)
    t31851 = torch.empty_strided((0, 0), (-1, 0), dtype=torch.bool, pin_memory=False, requires_grad=False)
    t31858 = torch.gather(t31857, -2, t31851)
    return t31858

# eager baseline -- succeeds
eager_out = model_259()
print("eager OK:", type(eager_out))

# inductor compile -- crashes
compiled = torch.compile(model_259, backend="inductor")
with torch.no_grad():
    compiled_out = compiled()
print("compiled OK:", type(compiled_out))
