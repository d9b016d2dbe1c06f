# Minimal repro for crash 1d4e9319 (compiled-only: eager OK, inductor crashes)
import torch, torch.nn as nn, torch.nn.functional as F

_m_t1995 = torch.nn.LogSigmoid().eval()

def model_1137():
    t1986 = torch.empty([24, 39], requires_grad=False)
    t1987 = torch.linalg.svd(t1986)[0]
    t1991 = torch.nn.functional.adaptive_max_pool1d(t1987, (22,))
    t1995 = _m_t1995(t1991)
    t1999 = torch.abs(t1995)
    return t1999

# eager baseline -- succeeds
eager_out = model_1137()
print("eager OK:", type(eager_out))

# inductor compile -- crashes
compiled = torch.compile(model_1137, backend="inductor")
with torch.no_grad():
    compiled_out = compiled()
print("compiled OK:", type(compiled_out))
