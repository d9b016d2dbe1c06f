import torch


class Clip(torch.nn.Module):
    def forward(self, x):
        if x.max() > 1:
            x = x / x.max()
        return x


torch.onnx.export(Clip(), (torch.rand(4),), "clip.onnx", dynamo=True)
