import torch


@torch.compile(backend="relu_accuracy_error_TESTING_ONLY")
def program(x):
    return torch.relu(x - 1).sum()


print(program(torch.arange(5.0)))
