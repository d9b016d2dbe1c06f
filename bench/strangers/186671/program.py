import torch


class MySet(set):
    def __iter__(self):
        return iter([99])  # lie


def fn(s1, s2):
    return s1 == s2


s1 = {1, 2, 3}
s2 = MySet({1, 2, 3})

print("eager:   ", fn(s1, s2))                                                  # True
print("compiled:", torch.compile(fn, backend="eager", fullgraph=True)(s1, s2))  # False
