# Minimal repro for  crash 0731d998 (compiled-only: eager OK, inductor crashes)
import torch, torch.nn as nn, torch.nn.functional as F

_m_t2812 = torch.nn.Softmax().eval()

def model_1545():
    t2802 = torch.ones([2, 2])
    t2803 = torch.atan2(t2802, t2802)
    t2804 = torch.log2(t2803)
    t2805 = torch.arccosh(t2804)
    t2812 = _m_t2812(t2805)
    return t2812

# eager baseline -- succeeds
eager_out = model_1545()
print("eager OK:", type(eager_out))

# inductor compile -- crashes
compiled = torch.compile(model_1545, backend="inductor")
with torch.no_grad():
    compiled_out = compiled()
print("compiled OK:", type(compiled_out))
