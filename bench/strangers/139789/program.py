import torch


def f(x, y):
    x.mul_(2)
    return x + y


x1 = torch.ones(4)
y1 = torch.ones(4)

f_compiled = torch.compile(f, backend="aot_eager")
out1 = f_compiled(x1, y1)

base = torch.ones(8)
x2 = base[:4]
y2 = base[2:6]
# None of the inputs alias
out2 = f_compiled(x2, y2)

base_ref = torch.ones(8)
x2_ref = base_ref[:4]
y2_ref = base_ref[2:6]
# This should re-compile, since inputs now alias!
# But it does not
out2_ref = f(x2_ref, y2_ref)

print(out2_ref)
print(out2)
