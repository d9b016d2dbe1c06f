import torch


def keeping(graph, _):
    def call(*args):
        args[0].retain_grad()
        return graph(*args)

    return call


def probe(hidden):
    return torch.sin(hidden).sum()


hidden = torch.ones(3, requires_grad=True) * 2
torch.compile(probe, backend=keeping)(hidden).backward()
assert not hidden.retains_grad
