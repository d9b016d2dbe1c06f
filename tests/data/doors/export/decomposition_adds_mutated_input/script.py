import torch
from torch.export import export

class Mod(torch.nn.Module):
    def forward(self, x, noise):
        res = torch.ops.aten.rrelu_with_noise(
            x, noise, 0.4, 0.6, True
        )
        return torch.mean(res)

example_args = (torch.randn(10, 10), torch.randn(10, 10))

exported_program: torch.export.ExportedProgram = export(
    Mod(), args=example_args
)
before = [n for n in exported_program.graph.nodes if n.op == "output"][0].args[0]
decomposed_program = exported_program.run_decompositions({})
after = [n for n in decomposed_program.graph.nodes if n.op == "output"][0].args[0]
print(len(before), len(after))
assert len(before) == len(after)
