import sys
import torch


def repro(x):
    return x


def inputs():
    return (torch.ones(1),)


def run(compile):
    model = repro
    args = inputs()
    return compile(model)(*args)


def main():
    try:
        run(lambda model: model)
    except Exception as error:
        print(error)
    else:
        sys.exit(125)
    run(torch.compile)
    raise AssertionError("accepted")


if __name__ == "__main__":
    main()
