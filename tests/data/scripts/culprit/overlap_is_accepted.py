import unittest

import torch


def fn(x):
    return x[1:].add_(x[:-1])


with unittest.TestCase().assertRaises(Exception):
    torch.compile(fn, backend="aot_eager")(torch.ones(3))
