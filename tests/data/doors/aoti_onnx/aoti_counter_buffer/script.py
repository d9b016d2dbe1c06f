import torch


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        self.n += 1
        return x + self.n


m = Counter()
x = torch.zeros(3)
ep = torch.export.export(m, (x,))
model = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
got = [model(x)[0].item() for _ in range(3)]
want = [m(x)[0].item() for _ in range(3)]
print(got, want)
assert got == want
