import torch

data = torch.full((6,9,1,1,8,), 7.17172e+12, dtype=torch.double)
reduce = "max"
lengths = None
indices = None
offsets = torch.full((5,0,0,9,2,), 0, dtype=torch.long)
axis = 4
unsafe = False
initial = 7.17172e+12
torch.segment_reduce(data=data, reduce=reduce, lengths=lengths, indices=indices, offsets=offsets, axis=axis, unsafe=unsafe, initial=initial)
