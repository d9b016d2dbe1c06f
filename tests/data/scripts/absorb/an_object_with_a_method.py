class Thing1:
    def __init__(self):
        self.attr2 = 4.0

    def method1(self, y):
        z = reversed([self.attr2, y])
        return (next(z), sum(z))


class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = Thing1()

    def forward(self, x):
        a, b = self.attr1.method1(2.0)
        return x * b
