import torch
import secret_library.secret_tools as st
from secret_library import secret_tools

def secret_entry(x):
    import math as secret_math
    return st.secret_scale(x) + secret_tools.SECRET_STEP + secret_math.pi

ENTRY = secret_entry
ARGS = (torch.randn(2),)
