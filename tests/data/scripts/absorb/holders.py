class TileCache:
    def __init__(self):
        self.attr1 = collections.OrderedDict({4: 1, 2: 2})

    def method1(self, size):
        self.attr1.move_to_end(size)


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr2 = TileCache()

    def forward(self, x):
        self.attr2.method1(4)
        return x + 1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr3 = Block2()

    def forward(self, x):
        return self.attr3(x)


class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr4 = Block1()

    def forward(self, x):
        return self.attr4(x)


state = lambda model: [list(model.attr4.attr3.attr2.attr1)]
