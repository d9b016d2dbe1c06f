from torch._dynamo.backends.common import aot_autograd


def doubled(graph, inputs):
    return lambda given: [out * 2 if out is not None else out for out in graph(*given)]


def boxed(maker):
    def compiler(graph, inputs):
        made = maker(graph, inputs)
        made._boxed_call = True
        return made

    return compiler


plain = boxed(lambda graph, inputs: lambda given: graph(*given))
backend = aot_autograd(fw_compiler=plain, bw_compiler=boxed(doubled))
weight = torch.rand(3, requires_grad=True)
out = torch.compile(lambda x: (x * weight).sin(), backend=backend)(torch.rand(3))
(out * random.random()).sum().backward()
