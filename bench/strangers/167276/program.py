import torch
import torch.nn as nn

class SimpleModel(nn.Module):
    def forward(self, x):
        print(f'Input stats - min: {min(x.flatten())}, max: {max(x.flatten())}, mean: {sum(x.flatten()) / len(x.flatten())}')
        return x

def run_eager_and_compile():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = SimpleModel().to(device)
    x = torch.randn(2, 3, device=device)

    try:
        print("Running in Eager mode")
        out_eager = model(x)
        print("Eager output:", out_eager)
    except Exception as e:
        print("Eager error:", e)

    try:
        print("Running in Compile mode")
        compiled_model = torch.compile(model, fullgraph=True)
        out_compile = compiled_model(x)
        print("Compile output:", out_compile)
    except Exception as e:
        print("Compile error:", e)

if __name__ == "__main__":
    run_eager_and_compile()
