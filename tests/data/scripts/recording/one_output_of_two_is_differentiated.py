import torch

w = torch.ones(3, requires_grad=True)
made = torch.compile(lambda x: ((x * w).sum(), x + w), backend="aot_eager")
loss, other = made(torch.ones(3))
loss.backward()
print(w.grad.tolist())
