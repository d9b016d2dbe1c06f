import copy

import torch


def repro(x):
    return torch.ops.aten._foobar(x)


def inputs():
    return (torch.randn(1),)


try:
    from torch._inductor.test_case import run_tests, TestCase
except ImportError:
    # torch's helpers need expecttest, which a plain install does not have
    from unittest import main as run_tests, TestCase


class TestRepro(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def common(self, model, example_inputs):
        """Eager runs, and so does what is compiled; within test_torchinductor.py, delete this one."""

        def run(compile):
            function, args = copy.deepcopy((model, example_inputs))
            torch.manual_seed(0)
            return compile(function)(*args)

        try:
            run(lambda function: function)
        except Exception as error:
            self.skipTest(f"eager fails here: {error}")
        run(torch.compile)

    def test_crash_foobar(self):
        """Compiling raises LoweringException; eager runs."""
        torch.manual_seed(0)
        model, args = repro, inputs()
        self.common(model, args)


if __name__ == "__main__":
    run_tests()
