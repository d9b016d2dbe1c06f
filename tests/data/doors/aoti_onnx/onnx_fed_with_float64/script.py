import numpy as np
import onnxruntime
import torch
from torch import nn

net = nn.Linear(4, 2).eval()
torch.onnx.export(net, (torch.randn(1, 4),), "net.onnx", dynamo=True, input_names=["features"])
session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
row = np.random.rand(1, 4)          # float64, as numpy makes it
print(session.run(None, {"features": row}))
