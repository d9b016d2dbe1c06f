import torch


class M(torch.nn.Module):
    def forward(self, x):
        vals, vecs = torch.linalg.eigh(x @ x.T)
        return vals.sum() + vecs.abs().sum()


torch.onnx.export(M(), (torch.randn(4, 4),), "m.onnx", dynamo=True)
