def helper1(x):
    yield x


class Repro(nn.Module):
    def forward(self, x):
        return list(helper1(x))
