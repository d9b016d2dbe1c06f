import torch


def repro(x):
    x = x + 1
    return torch.relu(x) * 2


def main():
    compiled = torch.compile(repro)
    out = compiled(torch.ones(40, 40))
    print("went all the way")
    raise ValueError("after the compiler")


if __name__ == "__main__":
    main()
