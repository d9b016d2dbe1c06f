class Thing1:
    def __init__(self):
        self.a = 1

    @property
    def __class__(self):
        return Thing2


def repro(x):
    try:
        y = [x]
        y.append(x)
    finally:
        pass
    return torch.stack(y)


def main():
    assert isinstance(repro(1), int)
