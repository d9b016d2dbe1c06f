import torch


def repro(x):
    return (x * 2).relu() + 1


def main():
    x = torch.ones(40, 40)
    assert torch.equal(torch.compile(repro)(x), repro(x)), "wrong result: output 0"


if __name__ == "__main__":
    main()
