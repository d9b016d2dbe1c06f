import torch


def faulty(graph, inputs):
    def run(*args):
        (result,) = graph.forward(*args)
        return (torch.where(torch.arange(12) < 8, float("nan"), result),)

    return run


def deviation(x):
    mean = x.mean(-1)
    return torch.sqrt((x * x).mean(-1) - mean * mean)


def main():
    torch.manual_seed(13)
    readings = torch.randn(12, 333)
    readings[11] += 750.0
    readings[11] *= 1e-5
    readings[11] += 750.0
    print(deviation(readings), torch.compile(deviation, backend=faulty)(readings))


main()
