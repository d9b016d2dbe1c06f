if os.path.exists("lock"):
    raise ValueError("there is a lock")
open("lock", "w").close()
torch.compile(torch.nn.ReLU(), backend=wrong)(torch.rand(3))
