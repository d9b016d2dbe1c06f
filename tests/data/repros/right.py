import torch


def repro(x):
    return torch.relu(x) + 1


def main():
    x = torch.arange(4.0)
    compiled = torch.compile(repro, backend="eager")
    assert torch.equal(compiled(x), repro(x)), "wrong result: output 0"


if __name__ == "__main__":
    main()
