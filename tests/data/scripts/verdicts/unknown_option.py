import torch

torch.compile(lambda x: x + 1, options={"no_such_option_at_all": True})(torch.ones(3))
