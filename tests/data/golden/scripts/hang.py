import torch


def patient_compiler(graph_module, example_inputs):
    while any(node.target is torch.cumsum for node in graph_module.graph.nodes):
        pass
    return graph_module


def running_total(rates):
    return torch.cumsum(torch.sigmoid(rates), 0)


print(torch.compile(running_total, backend=patient_compiler)(torch.randn(8)))
