class Repro(nn.Module):
    def forward(self, x, n):
        few = torch.tensor([0.5 for step in range(2)])
        named = [x + step for step in (1, 3)]
        many = [x for step in range(12)]
        unknown = [x for step in range(n)]
        some = [x for step in range(2) if step]
        return few, named, many, unknown, some
