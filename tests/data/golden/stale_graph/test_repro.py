import torch

try:
    from torch._dynamo.test_case import run_tests, TestCase
except ImportError:
    # torch's helpers need expecttest, which a plain install does not have
    from unittest import main as run_tests, TestCase


class TestRepro(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def test_stale_graph_size(self):
        """A compiled graph that is reused for other inputs returns wrong values; compiled afresh it is right."""

        def custom_backend(gm, example_inputs):
            for value1 in gm.graph.nodes:
                value2 = value1.meta.get("example_value")
                if isinstance(value2, torch.SymInt):
                    value1.replace_all_uses_with(value2.node.hint)
            return gm.forward

        def fn(x, y):
            return y - (x.size(1) - 1)

        compiled = torch.compile(fn, backend=custom_backend, dynamic=True)
        for n in (2, 3):
            x = torch.ones(1, n, 1)
            y = torch.zeros(n, dtype=torch.int64)
            torch.testing.assert_close(compiled(x, y), fn(x, y))


if __name__ == "__main__":
    run_tests()
