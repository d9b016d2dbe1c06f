# Says whether a compiled function was compiled.
import torch

print(torch.compile(lambda: torch.compiler.is_compiling(), backend="eager")())
