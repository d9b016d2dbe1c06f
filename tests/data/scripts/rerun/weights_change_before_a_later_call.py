class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
        self.calls = 0

    def forward(self, x):
        return self.layer(x)


def backend(graph, inputs):
    if inputs[-1].shape[0] == 5 or 5 in [i.shape[0] for i in inputs]:
        return wrong(graph, inputs)
    return graph


model = Model()
compiled = torch.compile(model, backend=backend, dynamic=False)
optimizer = torch.optim.SGD(model.parameters(), lr=random.random())
for size in (4, 5):
    compiled(torch.rand(size, 3)).sum().backward()
    optimizer.step()
