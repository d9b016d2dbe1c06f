class Block1(nn.Module):
    def forward(self, x):
        return self.method1(x, *x)

    def method1(self, *args):
        return args


class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = Block1()

    def forward(self, x):
        return self.attr1(x)
