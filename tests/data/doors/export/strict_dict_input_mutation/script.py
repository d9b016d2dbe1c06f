import torch
inps2 = (
    torch.ones([])*1,
    {
        "a": torch.ones([])*10,
        "b": torch.ones([])*10,
    },
    # pyre-ignore
    torch.Tensor([True])
)

class Foo2(torch.nn.Module):
    def __init__(self, shape=None, pose=None):
        super().__init__()

        self._preds_shape_regressor = shape
        self._preds_pose_regressor = pose

    def forward(self, x, y, z):
        y.update({"c": x.sin(), "d": x.cos()})
        return y

ep = torch.export.export(Foo2(shape=True), inps2, strict=True)
print(ep)
print(ep.module()(*inps2))
