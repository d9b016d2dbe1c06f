import torch


def test_softmax(x):
    return torch.nn.functional.softmax(x, dim=-1)


x = torch.randn(1, 1024, dtype=torch.float32).cpu()
compiled_softmax = torch.compile(test_softmax)

print(compiled_softmax(x))
