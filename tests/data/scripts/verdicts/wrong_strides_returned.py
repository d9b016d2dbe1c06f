"""The strides of a quotient, read while Dynamo traces it."""

import torch


def cells(values, widths):
    quotient = torch.floor_divide(values, widths)
    return quotient.sum(), quotient.stride()


def main():
    values, widths = torch.arange(1.0, 43.0).reshape(7, 6).T, torch.full((6, 7), 2.5)
    print(cells(values, widths), torch.compile(cells, backend="eager")(values, widths))


main()
