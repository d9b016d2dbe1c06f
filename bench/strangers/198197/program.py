import torch

def fn(x):
    def has(obj, name):
        try:
            getattr(obj, name)
        except AttributeError:
            return None          # attribute missing
        else:
            return 1             # attribute present
    s = has(int, "__nonexistent__")            # missing on a builtin type -> eager: None
    return torch.cos(x) if s is None else torch.sin(x)

x = torch.randn(4)                             # CPU, float32

print(torch.allclose(fn(x), torch.cos(x)))
print(torch.allclose(torch.compile(fn, backend="eager")(x), torch.cos(x)))
