class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = 1
