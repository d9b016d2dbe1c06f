# Minimal repro for  crash e9b68445 (compiled-only: eager OK, inductor crashes)
import torch, torch.nn as nn, torch.nn.functional as F

def model_54():
    t9046 = torch.empty((3, 3, 3))
    t9047 = torch.linalg.eigh(t9046)[0]
    t9048 = torch.ge(t9047, t9046)
    t9050 = torch.where(t9048, t9047, t9046)
    t9059 = torch.linalg.eigh(t9050)[0]
    return t9059

# eager baseline -- succeeds
eager_out = model_54()
print("eager OK:", type(eager_out))

# inductor compile -- crashes
compiled = torch.compile(model_54, backend="inductor")
with torch.no_grad():
    compiled_out = compiled()
print("compiled OK:", type(compiled_out))
