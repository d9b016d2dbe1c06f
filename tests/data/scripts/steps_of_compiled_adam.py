import torch


def train(is_compiled):
    torch.manual_seed(5)
    layer = torch.nn.Linear(6, 12)
    optimizer = torch.optim.Adam(layer.parameters(), lr=torch.tensor(1e-2))
    step = torch.compile(optimizer.step) if is_compiled else optimizer.step
    for _ in range(4):
        optimizer.zero_grad()
        layer(torch.ones(2, 6)).square().mean().backward()
        step()
    return layer.weight


assert torch.equal(train(True), train(False))
