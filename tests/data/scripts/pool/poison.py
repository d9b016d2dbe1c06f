import torch
import torch._dynamo.config

torch.relu = torch.Tensor.relu = None
torch.set_num_threads(1)
torch.manual_seed(5)
torch._dynamo.config.suppress_errors = True
open("left", "w").close()
