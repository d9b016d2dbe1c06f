class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = Block2()
        self.attr2 = 3.0
    def forward(self, arg1):
        value1 = self.method1(arg1)
        return value1 * self.attr2 + self.attr1(value1)
    def method1(self, arg2):
        return arg2 - helper1(arg2, 2.0)

class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr3 = nn.Softplus(2)
    def forward(self, arg3):
        if arg3.dim() > 1:
            arg3 = arg3.sin()
        else:
            pass
        return self.attr3(arg3)

class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr4 = nn.ModuleList([Block1() for _ in range(1)])
    def forward(self, arg1):
        value1 = arg1.cos()
        return self.attr4[0](value1)

def helper1(arg1, arg2):
    value2 = arg1.abs()
    return value2 / arg2
