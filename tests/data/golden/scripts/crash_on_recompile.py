import torch


def static_compiler(graph_module, example_inputs):
    assert all(isinstance(value, torch.Tensor) for value in example_inputs), "sizes must be known"
    return graph_module


@torch.compile(backend=static_compiler)
def smooth(window):
    return torch.softmax(window, 0) * window


for length in (4, 6, 9):
    print(smooth(torch.randn(length)).sum().item())
