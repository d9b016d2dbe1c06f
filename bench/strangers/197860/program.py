import torch

def first(self, x):
    return x * 2.0

def second(self, x):
    return x * 9.0

class Model:
    m = first

model = Model()
x = torch.arange(1.0, 4.0)
compiled = torch.compile(lambda x: model.m(x))

print(compiled(x))
# tensor([2., 4., 6.])

Model.m.__code__ = second.__code__

print(model.m(x))
# tensor([ 9., 18., 27.])

print(compiled(x))
# tensor([2., 4., 6.])  <-- stale
