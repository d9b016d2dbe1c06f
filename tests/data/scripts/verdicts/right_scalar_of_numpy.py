import numpy as np
import torch

torch.compile(lambda load: np.sum(load))(np.array([3, 1, 2], dtype=np.float32))
