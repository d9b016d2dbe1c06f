import torch


class MyExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        result, = ctx.saved_tensors
        return grad_output * result


class MyModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(64, 64, 1,  bias=False)

    def forward(self, x):
        y = self.conv(x)
        z = torch.relu(y)
        assert MyExp is not None, "failed to import MyExp"
        loss = z.pow(2.0).sum()
        return loss


model = MyModule()
compiled_model = torch.compile(model, backend="inductor")

input = torch.randn([1, 64, 32, 32])
loss = compiled_model(input)
print("done")
