import numpy as np, torch, torch.nn as nn, onnxruntime as ort

N, D = 4, 8
class M(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("scale", torch.arange(d, dtype=torch.float32) + 1.0)
    def forward(self, embeds, mask, inject):     # (1,S,D), (1,S) bool, (N,D)
        return embeds.masked_scatter(mask.unsqueeze(-1), inject) * self.scale

m = M(D).eval()
embeds = torch.zeros(1, 8, D)
mask = torch.zeros(1, 8, dtype=torch.bool); mask[0, :N] = True
inject = torch.arange(N * D, dtype=torch.float32).reshape(N, D) + 1.0

p = "/tmp/ms.onnx"
torch.onnx.export(m, (embeds, mask, inject), p,
    input_names=["embeds", "mask", "inject"], output_names=["y"],
    dynamic_axes={"embeds": {1: "S"}, "mask": {1: "S"}, "y": {1: "S"}},
    opset_version=18, dynamo=True)
o = ort.InferenceSession(p, providers=["CPUExecutionProvider"]).run(None, {"embeds": embeds.numpy(), "mask": mask.numpy(), "inject": inject.numpy()})[0]
ref = m(embeds, mask, inject).numpy()
print(np.abs(o - ref).max())
np.testing.assert_allclose(o, ref, rtol=1e-5)
