import torch


def repro(x, y):
    return x[y]


def inputs():
    return (
        torch.randn(2, 2),
        torch.randint(0, 1199, (625,)),
    )


def run(compile):
    torch.manual_seed(0)
    model = repro
    args = inputs()
    out = compile(model)(*args)
    return out if isinstance(out, (tuple, list)) else [out]


try:
    from torch._inductor.test_case import run_tests, TestCase
except ImportError:
    # torch's helpers need expecttest, which a plain install does not have
    from unittest import main as run_tests, TestCase


class TestRepro(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def test_process_death_getitem(self):
        """The compiled call ends the process with SIGABRT."""
        try:
            run(lambda model: model)
        except Exception as error:
            pass
        else:
            self.skipTest("eager passes here")
        try:
            run(lambda model: torch.compile(model))
        except Exception:
            return


if __name__ == "__main__":
    run_tests()
