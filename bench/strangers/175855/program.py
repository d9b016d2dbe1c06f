import torch
import torch.nn as nn

class module(nn.Module):
    def forward(self, x):
        vals = [x.sum()]
        
        def grow_and_read():
            for item in vals:
                if len(vals) < 3:
                    vals.append(item + 1)
                yield item
        seq = list(grow_and_read())
        return torch.stack(seq).sum()

m = module()
x = torch.ones(1)

output1 = m(x)
print("eager:", output1) # tensor(6.)

output2 = torch.compile(m)(x)
print("compiled:", output2) # tensor(1.)
