"""A difference of squares that a function of NumPy loses to rounding, compiled and not."""

import numpy as np
import torch


def variance(x):
    return (x * x).sum() / x.size - (x.sum() / x.size) ** 2


x = (1000 + np.random.default_rng(1).random(5000)).astype(np.float32)
compiled = torch.compile(variance)
np.testing.assert_allclose(compiled(x), variance(x), rtol=1e-2)
