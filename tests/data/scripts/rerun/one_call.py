torch.compile(torch.nn.ReLU(), backend=wrong)(torch.rand(3))
