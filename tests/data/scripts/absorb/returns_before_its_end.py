def helper1(x):
    if x.dim() > 1:
        return x
    return x.sin()


class Repro(nn.Module):
    def forward(self, x):
        return helper1(x)
