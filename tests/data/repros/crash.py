import torch


def repro(x):
    return torch.relu(x)


def refuse(graph_module, example_inputs):
    raise NotImplementedError("relu is not supported")


def main():
    torch.compile(repro, backend=refuse)(torch.arange(4.0))


if __name__ == "__main__":
    main()
