import torch


def repro(x):
    return (x * 3).relu() + 1


def main():
    x = torch.ones(400, 400, requires_grad=True)
    assert torch.equal(torch.compile(repro)(x), repro(x)), "wrong result: output 0"
    torch.compile(repro)(x).sum().backward()
    print(x.grad[0, 0].item())


if __name__ == "__main__":
    main()
