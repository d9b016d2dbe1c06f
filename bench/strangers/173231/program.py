"""Repro for context manager error message behavior in Dynamo."""

import torch
from contextlib import contextmanager


class BadClass:
    """Class that requires 'cls' argument."""
    def __init__(self, cls):
        self.cls = cls


@contextmanager
def my_context():
    yield


def fn_with_error():
    with my_context():
        # Error: Missing required positional argument 'cls'
        obj = BadClass()  # This will raise TypeError
        return obj


def main():
    compiled_fn = torch.compile(fn_with_error, fullgraph=True)
    compiled_fn()


if __name__ == "__main__":
    main()
