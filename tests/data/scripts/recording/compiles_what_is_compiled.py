import torch


def double(x):
    return x * 2


x = torch.ones(3)
once = torch.compile(double, backend="eager")
twice = torch.compile(once, backend="eager", fullgraph=True)
print(twice(x).tolist(), torch._dynamo.run(once)(x).tolist())
print(torch._dynamo.explain(once)(x).graph_count)
context = torch._dynamo.optimize("eager")
print(type(context).__name__, isinstance(context, torch._dynamo.eval_frame.OptimizeContext))
print(context(double)(x).tolist())
module = context(torch.nn.Linear(3, 3))
print(type(module).__name__, module(x).shape)
