import numpy as np
import onnxruntime
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 16)).eval()
x = torch.randn(8, 256)
torch.onnx.export(net, (x,), "net.onnx", dynamo=True, input_names=["x"])
session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
out = session.run(None, {"x": x.numpy()})[0]
ref = net(x).detach().numpy()
print(np.abs(out - ref).max())
np.testing.assert_array_equal(out, ref)
