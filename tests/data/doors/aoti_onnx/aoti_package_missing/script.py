import torch

model = torch._inductor.aoti_load_package("build/model.pt2")
print(model(torch.randn(1, 3)))
