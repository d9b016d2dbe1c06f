path = "runs.txt"
runs = len(open(path).read()) if os.path.exists(path) else 0
open(path, "a").write(".")
torch.compile(torch.nn.ReLU(), backend=wrong)(torch.rand(3 + runs))
