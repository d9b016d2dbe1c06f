import torch

def fn(x):
    y = x.to(torch.float16)
    return (y * y).to(torch.float32)

x = torch.tensor([5000.0])

eager = fn(x).item()

torch._dynamo.reset()
compiled = torch.compile(fn, backend="inductor")(x).item()

print("eager:", eager, "compile:", compiled)
