import torch

def fn(tensors):
    torch._foreach_div_(tensors, 1j)

tensors = [torch.tensor([1 + 2j, 3 + 4j], dtype=torch.complex64)]

fn(tensors)                                    # eager:    OK -> [2-1j, 4-3j]
torch.compile(fn, backend="inductor")(         # compiled: InductorError (getitem is not an OpOverload)
    [torch.tensor([1 + 2j, 3 + 4j], dtype=torch.complex64)]
)
