import unittest

import torch


def fn(x, y, z):
    return torch.addmm(x, y, z)


with unittest.TestCase().assertRaises(Exception):
    torch.compile(fn)(torch.ones(2, 1), torch.ones(1, 2), torch.ones(2, 1))
