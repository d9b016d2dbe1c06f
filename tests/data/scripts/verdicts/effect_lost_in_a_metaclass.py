import torch


class Counting(type):
    made = 0

    def __call__(cls, *args):
        Counting.made += 1
        return super().__call__(*args)


class Item(metaclass=Counting):
    pass


@torch.compile(backend="eager")
def program(x):
    Item()
    return x + 1


program(torch.ones(3))
