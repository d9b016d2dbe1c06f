import os
import runpy

import torch

folder = os.path.join(os.path.dirname(__file__), torch.__name__)
os.mkdir(folder)
path = os.path.join(folder, "mine.py")
with open(path, "w") as file:
    file.write("raise ValueError('mine')")
runpy.run_path(path)
