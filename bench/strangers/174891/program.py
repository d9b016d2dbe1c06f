import torch
torch.manual_seed(0)

class Model(torch.nn.Module):

    def forward(self, x):
        x_mask = torch.ones(2, 1, dtype=torch.complex64)
        x = x + x_mask
        return x

mod = Model()
x = torch.full((2, 2), 1., dtype=torch.complex64)
'''
tensor([[1.+0.j, 1.+0.j],
        [1.+0.j, 1.+0.j]])
'''

out1 = mod(x)
'''
tensor([[2.+0.j, 2.+0.j],
        [2.+0.j, 2.+0.j]])
'''
out2 = torch.compile(mod, backend='inductor')(x)
'''
tensor([[2.+1.j, 2.+1.j],
        [2.+1.j, 2.+1.j]])
'''
print(out1)
print(out2)
torch.testing.assert_close(out1, out2, equal_nan=True)
