"""A script rewritten statement by statement, up to its failing call."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import pytest

from anonymizer.graph.repro import ReproAssertion
from anonymizer.kinds import Kind
from anonymizer.plain.script.forms import PlainForm
from anonymizer.source.script.command_line import NOTHING_GIVEN, CommandLine
from anonymizer.source.script.public_script import rebuild_script
from anonymizer.source.symbols.symbol_table import SourceError
from reporter.core.candidate import Candidate
from reporter.reduce.source_candidates import RewrittenProgram
from reporter.verify.plain import write_plain_program

#: Attribute names that torch's objects have.
WORDS = frozenset(
    "relu sum backward grad weight arange ones randn Linear Module forward shape compile"
    " register_full_backward_pre_hook tensor float32 dtype dim"
    " Sequential requires_grad requires_grad_ no_grad manual_seed".split()
)


def rebuild(
    text: str,
    marker: str = "# fails",
    inside: Sequence[str] = (),
    words: frozenset[str] = WORDS,
    command_line: CommandLine = NOTHING_GIVEN,
) -> RewrittenProgram:
    """The script with the failing call in the marked line; `inside` are the functions that led
    there, each of which is called in the line marked by its name.
    """
    text = textwrap.dedent(text)
    lines = text.splitlines()

    def find(mark: str) -> int:
        return next(at for at, line in enumerate(lines, 1) if line.endswith(mark))

    marks = [f"# {name}" for name in inside] + [marker]
    frames = [(name, find(mark)) for name, mark in zip(("<module>", *inside), marks)]
    made = rebuild_script(text, frames, words, command_line=command_line)
    return RewrittenProgram(made)


def definitions(text: str, **more: object) -> str:
    return rebuild(text, **more).program.write_definitions()  # type: ignore[arg-type]


def plain(text: str, assertion: ReproAssertion, form: PlainForm = PlainForm.PLAINEST) -> str:
    body = Candidate(rebuild(text), assertion).build_body()
    found = write_plain_program(body, assertion, form)
    assert found is not None
    return found


STALE = """
    import torch

    class Ledger:
        rate = staticmethod(lambda x: x * 2)

    ledger = Ledger()

    @torch.compile(fullgraph=True)
    def settle(amount):
        '''Says what it does.'''
        return ledger.rate(amount)

    amount = torch.arange(3.0)
    print("before", settle(amount))
    Ledger.rate = staticmethod(lambda x: x * 9)
    assert settle is not None
    print("after", settle(amount))  # fails
    print("never", amount)
    """


def test_the_statements_up_to_the_call_in_public_words() -> None:
    program = rebuild(STALE).program
    assert program.write_definitions() == textwrap.dedent("""\
        class Thing1:
            attr1 = staticmethod(lambda arg1: arg1 * 2)
        value1 = Thing1()

        def fn(value2):
            return value1.attr1(value2)
        compiled = compile(fn)
        value2 = torch.arange(3.0)
        compiled(value2)
        Thing1.attr1 = staticmethod(lambda arg1: arg1 * 9)
        out = compiled(value2)""")
    assert program.callable_expression == "(out, (value2,))"
    assert program.private.mapping["ledger"] == "value1"
    assert program.private.reverse["Thing1"] == "Ledger"


def test_the_plain_form_is_a_flat_script() -> None:
    assertion = ReproAssertion(Kind.STALE_GRAPH, (("backend", "'eager'"),), double=False)
    assert plain(STALE, assertion) == textwrap.dedent("""\
        import torch


        class Thing:
            state = staticmethod(lambda z: z * 2)


        x = Thing()


        def fn(y):
            return x.state(y)


        compiled = torch.compile(fn, backend="eager")
        y = torch.arange(3.0)
        compiled(y)
        Thing.state = staticmethod(lambda z: z * 9)
        torch.testing.assert_close(compiled(y), fn(y))
        """)


def test_a_flat_script_makes_its_process_group_at_once() -> None:
    text = """
        import torch

        torch.distributed.init_process_group("nccl")
        x = torch.ones(2)
        print(torch.compile(torch.relu)(x))  # fails
    """
    words = "distributed init_process_group is_initialized HashStore rank world_size store gloo"
    program = rebuild(text, words=WORDS.union(words.split()))
    assert "if not torch.distributed.is_initialized():" in program.program.write_definitions()
    assertion = ReproAssertion(Kind.CRASH)
    body = Candidate(program, assertion).build_body()
    written = write_plain_program(body, assertion, PlainForm.PLAINEST)
    assert written is not None and "\ntorch.distributed.init_process_group(" in written
    assert "is_initialized" not in written


def test_a_main_function_is_written_where_it_is_called() -> None:
    text = """
        import torch
        from torch import nn

        def build():
            return nn.Linear(3, 3)

        def main():
            fast = torch.compile(build())
            ready = fast(torch.ones(3))  # fails

        if __name__ == "__main__":
            main()  # main
        """
    assert "compiled = compile(helper1())\nout = compiled(torch.ones(3))" in definitions(
        text, inside=["main"]
    )


def test_a_function_with_parameters_is_written_where_it_is_called() -> None:
    text = """
        import torch

        def double(x):
            return x * 2

        def step(call, batch, rate=3.0, *, kept=None, quiet):
            if quiet and kept:
                return None
            if not quiet:
                print(rate)
            else:
                return rate
            return call(batch) + rate  # step's own

        calm = False
        found = step(torch.compile(double), batch=torch.ones(2), quiet=calm)  # step
        """
    assert definitions(text, marker="# step's own", inside=["step"]) == textwrap.dedent("""\
        def fn(arg1):
            return arg1 * 2
        value1 = False
        compiled = compile(fn)
        value2 = torch.ones(2)
        value3 = 3.0
        value4 = None
        value5 = value1
        out = compiled(value2)""")


@pytest.mark.parametrize(("read", "kept"), [("2.0", False), ("given.rate", True)])
def test_a_command_line_that_nothing_reads_is_not_parsed(read: str, kept: bool) -> None:
    text = f"""
        import argparse
        import torch

        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("start")
            given = parser.parse_args()
            if given.start:
                return
            torch.compile(torch.relu)(torch.ones(2) * {read})  # fails

        main()  # main
        """
    if kept:
        with pytest.raises(SourceError):
            definitions(text, inside=["main"])
    else:
        assert "parse" not in definitions(text, inside=["main"])


def test_a_log_that_no_tensor_is_made_of_is_not_set_up() -> None:
    text = """
        import logging
        import warnings
        import torch

        logging.basicConfig(level=logging.INFO)
        log = logging.getLogger("velkor")
        warnings.filterwarnings("ignore", message="velkor")
        torch.compile(torch.relu)(torch.ones(2))  # fails
        """
    found = definitions(text)
    assert not re.search("log|warn|velkor", found) and "compile(torch.relu)" in found


def test_the_words_of_a_dictionary_are_texts() -> None:
    text = """
        import torch

        plan = dict(harbour=2.0, *[], tide=3.0)
        torch.compile(torch.relu)(torch.ones(2) * plan["tide"])  # fails
        """
    with pytest.raises(SourceError):
        definitions(text)
    written = definitions(text.replace("*[], ", ""))
    assert "harbour" not in written and "dict(" not in written and "tide" not in written


def test_the_call_of_a_function_of_any_number_of_arguments_is_compared_as_a_whole() -> None:
    text = """
        import torch

        def double(x):
            return x * 2

        def step(call, *batch):
            return call(*batch)  # step's own

        found = step(torch.compile(double), torch.ones(2))  # step
        """
    program = rebuild(text, "# step's own", ["step"]).program
    assert program.write_definitions().endswith("out = helper1(compile(fn), torch.ones(2))")
    assert program.callable_expression == "(out, ())"


def test_a_private_fn_is_not_the_public_one() -> None:
    text = """
        import torch

        def fn(out):
            return out.relu()

        @torch.compile
        def compiled(compile):
            return fn(compile)

        out = compiled(torch.ones(2))  # fails
        """
    assert definitions(text) == textwrap.dedent("""\
        def helper1(arg1):
            return arg1.relu()

        def fn(arg2):
            return helper1(arg2)
        compiled = compile(fn)
        out = compiled(torch.ones(2))""")


def test_what_is_global_belongs_to_the_run() -> None:
    text = """
        import torch

        count = 0

        def step(x):
            global count
            count += 1
            return x + count

        fast = torch.compile(step)
        fast(torch.ones(2))  # fails
        """
    content = rebuild(text)
    assertion = ReproAssertion(Kind.WRONG_RESULT, double=False)
    assert "nonlocal value1" in Candidate(content, assertion).render()
    found = write_plain_program(content.build_body(), assertion, PlainForm.PLAINEST)
    assert found is not None and "global x" in found


def test_each_run_may_make_its_globals_anew() -> None:
    text = """
        import torch

        class Phase:
            pass

        warm = Phase()

        def step(x):
            return x * 2 if x is warm else x

        fast = torch.compile(step)
        fast(torch.ones(2))  # fails
        """
    content = rebuild(text).keep_globals()
    assertion = ReproAssertion(Kind.WRONG_RESULT, double=False)
    rendered = Candidate(content, assertion).render()
    assert "def program(compile):\n    global value1\n" in rendered
    found = write_plain_program(content.build_body(), assertion, PlainForm.PLAINEST)
    assert found is not None and "global" not in found


def test_what_is_compared_is_still_called() -> None:
    text = """
        import torch

        compiled = torch.compile(torch.relu)
        x = torch.ones(2)
        torch.testing.assert_close(compiled(x), x)
        out = compiled(x)  # fails
    """
    lines = definitions(text).splitlines()
    assert lines[-2:] == ["compiled(value1)", "out = compiled(value1)"]


def test_the_failing_one_of_two_calls_in_a_line_is_written_out() -> None:
    text = """
        import torch

        def double(x):
            return x * 2

        def drive(fast):
            step = torch.compile(double) if fast else double
            return step(torch.ones(2))  # drive's own

        plain, fast = drive(False), drive(True)  # drive
        """
    lines = definitions(text, marker="# drive's own", inside=["drive"]).splitlines()
    assert lines[-3:] == [
        "value2 = True",
        "compiled = compile(fn) if value2 else fn",
        "out = compiled(torch.ones(2))",
    ]


def test_texts_and_numbers_are_nobodys() -> None:
    text = """
        import torch

        rates = {"harbour-7": 0.0731, "quay": 4711}
        fast = torch.compile(lambda x: x * rates["harbour-7"] + rates["quay"])
        fast(torch.ones(2))  # fails
        """
    found = definitions(text)
    assert "value1 = {'text1': 0.07, 'text2': 64}" in found
    assert not {"harbour", "0731", "4711", "quay"} & set(found)


@pytest.mark.parametrize(
    "line, reason",
    [
        ("x = open('weights.bin')", r"open\(\)"),
        ("x = torch.ones(2).plankton", "an attribute that is neither"),
        ("x = f'{torch.ones(2)}'.encode()\ny = b'key'", "a constant without a public form"),
    ],
)
def test_what_has_no_public_form_ends_the_rewriting(line: str, reason: str) -> None:
    text = f"import torch\n{line}\ntorch.compile(torch.relu)(torch.ones(2))  # fails\n"
    with pytest.raises(SourceError, match=reason):
        rebuild(text)


CALL = "torch.compile(torch.relu)(torch.ones(2))  # fails"


@pytest.mark.parametrize(
    "lines",
    [
        "match torch.ones(2).shape:\n    case (2, velkor_rest):\n        pass",
        "def g():\n    global velkor_state\n    return 3",
        "def g(**kw):\n    return 3\ng(velkor_budget=3)",
        "x = dict([], velkor_account=1)",
        "x = torch.ones(3, velkor_kw=3)",
        "def g(y):\n    return velkor_revenue(y)",
        "x = torch.ops.velkor.revenue",
        "x = torch.velkor_budget",
        "x = math.velkor_attr",
        "async def velkor():\n    pass",
        "class A:\n    pass\nA.__velkor__ = 3\ny = A().velkor_read",
        "x = torch.ones(2) if (velkor_now := 3) else velkor_unbound",
    ],
)
def test_a_word_that_is_nobodys_own_or_public_ends_the_rewriting(lines: str) -> None:
    with pytest.raises(SourceError):
        definitions(f"import math\nimport torch\n{lines}\n{CALL}\n")


def test_no_private_word_survives_where_the_rewriting_goes_on() -> None:
    text = """
        import dataclasses
        import functools
        import torch

        try:
            import velkor_fast
        except ImportError:
            velkor_fast = None

        @dataclasses.dataclass
        class VelkorConfig:
            velkor_budget: int = 3
            x: float = 2.0

        def velkor_scale(t, *velkor_more, velkor_by=2, **velkor_options):
            velkor_kept: VelkorConfig = t
            return velkor_kept * velkor_by

        dtype = torch.float32
        config = VelkorConfig(velkor_budget=4, x=3.0)
        velkor_half = functools.partial(velkor_scale, velkor_by=config.velkor_budget)
        data = torch.tensor([[12, 55, 31, 9], [61, 7, 8, 45]], dtype=dtype)
        rates = torch.tensor([0.12, 7.3, 8.8, 4.5, 0.03])
        x = data.sum(dim=1)
        assert x is not None
        torch.compile(velkor_half)(x)  # fails
        """
    found = rebuild(text).program
    words = found.write_definitions() + found.callable_expression
    assert "velkor" not in words.lower() and "config" not in words
    assert "torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7]], dtype=" in words
    assert "torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0])" in words
    given = found.callable_expression.removeprefix("(out, (").removesuffix(",))")
    assert f"{given} = value" in words and words.endswith(f"({given})(out, ({given},))")


def test_a_partial_of_a_function_of_torch_takes_the_words_of_that() -> None:
    text = """
        import functools
        import torch

        dim = 1
        velkor_sum = functools.partial(torch.sum, dim=dim)
        torch.compile(velkor_sum)(torch.ones(2, 3))  # fails
        """
    found = definitions(text)
    assert "functools.partial(torch.sum, dim=value1)" in found and "velkor" not in found


def test_what_is_of_other_packages_is_left_out_with_all_that_reads_it() -> None:
    text = """
        import argparse
        import pandas as pd
        import torch

        def parse():
            return argparse.ArgumentParser().parse_args()

        def load():
            return pd.read_csv("data.csv").values

        args = parse()
        torch.manual_seed(args.seed)
        width = args.width
        weight = torch.ones(3)
        if args.verbose:
            print(pd.options)
        fast = torch.compile(torch.relu)
        fast(weight)  # fails
        """
    assert definitions(text) == (
        "value1 = torch.ones(3)\ncompiled = compile(torch.relu)\nout = compiled(value1)"
    )
    with pytest.raises(SourceError, match="neither torch's, NumPy's nor Python's own"):
        rebuild(text.replace("fast(weight)", "fast(torch.from_numpy(load()))"))


def test_a_digit_is_the_switch_of_an_environment_variable() -> None:
    text = """
        import os
        import torch

        @torch.compile
        def scale(x):
            return x * 2 if int(os.getenv("KESTREL_STRONG", "0")) else x - 3

        os.environ["KESTREL_STRONG"] = "1"
        scale(torch.ones(2))  # fails
        """
    words = definitions(text)
    assert "int(os.getenv('text1', '0'))" in words and "os.environ['text1'] = '1'" in words


def test_a_variable_that_a_script_sets_is_not_there_when_a_run_begins() -> None:
    text = """
        import os
        import torch

        @torch.compile
        def scale(x):
            return x * 2 if "KESTREL_STRONG" in os.environ else x - 3

        scale(torch.ones(2))
        os.environ["KESTREL_STRONG"] = "1"
        scale(torch.ones(2))  # fails
        """
    assert definitions(text).startswith("os.environ.pop('text1', None)\n")


PARSED = """
    import argparse
    import torch

    def read():
        parser = argparse.ArgumentParser("velkor")
        parser.add_argument("--width", type=int)
        options = parser.parse_args()
        options.width += 1
        return options

    class Velkor:
        def __init__(self, given):
            self.given = given
            if given.mode == "velkor-fast" and not given.plain:
                self.fast = torch.compile(torch.relu)
            else:
                self.fast = torch.relu

        def run(self):
            x = torch.ones(self.given.width)
            for turn in range(2):
                got, want = self.step(x), torch.relu(x)  # run
            print(got, want)

        def step(self, x):
            with torch.no_grad():
                return self.fast(x)  # fails

    def main():
        options = read()
        torch.manual_seed(options.seed)
        velkor = Velkor(options)
        velkor.run()  # main

    if __name__ == "__main__":
        main()  # module
    """


def rebuild_parsed(text: str, command_line: CommandLine) -> str:
    text = textwrap.dedent(text)
    lines = text.splitlines()
    marks = {"<module>": "# module", "main": "# main", "run": "# run", "step": "# fails"}
    frames = [
        (name, 1 + next(at for at, line in enumerate(lines) if line.endswith(mark)))
        for name, mark in marks.items()
    ]
    made = rebuild_script(text, frames, WORDS, command_line=command_line)
    return made.write_definitions()


def test_what_argparse_made_is_written_where_it_is_read() -> None:
    values = {"width": "4", "mode": "'velkor-fast'", "plain": "False", "seed": "3", "log": "'x'"}
    found = rebuild_parsed(PARSED, CommandLine((), values))
    assert "parse" not in found and "velkor" not in found.lower()
    assert "torch.manual_seed(3)" in found  # read in `main`
    assert found.startswith("class Thing1:\n    attr")  # read as a whole in `Velkor`
    assert "= 4\n" in found and "torch.relu\n" not in found  # `mode` and `plain` are known
    assert "attr2 = 3" not in found


@pytest.mark.parametrize(
    "parse",
    [
        "options: argparse.Namespace = parser.parse_args()",
        "options, _ = parser.parse_known_args()",
        "options = parser.parse_known_args()[0]",
    ],
)
def test_an_option_that_the_script_changes_is_what_it_is_then(parse: str) -> None:
    text = f"""
        import argparse
        import torch

        parser = argparse.ArgumentParser()
        {parse}
        options.width *= 2
        options.seed = options.seed or 7
        torch.manual_seed(options.seed)
        torch.compile(torch.relu)(torch.ones(options.width))  # fails
        """
    values = {"width": "8", "seed": "7"}
    found = definitions(text, command_line=CommandLine((), values))
    assert "*=" not in found and "attr" not in found
    assert "torch.manual_seed(7)" in found and "torch.ones(8)" in found


TAKEN = """
    import argparse
    import torch

    options = argparse.ArgumentParser().parse_args()
    options.kind = torch.float32

    class Velkor:
        def __init__(self, config):
            self.config = config

        def start(self):
            return prepare(self.config)

    def prepare(settings):
        return torch.ones(settings.width, dtype=settings.kind)

    def unused(settings):
        return settings.width

    def model(x):
        return torch.ones(3, dtype=x.dtype) + {read}

    start = Velkor(options).start()
    torch.compile(model)(start)  # fails
    """


@pytest.mark.parametrize("read", ["x.relu()", "torch.ones(x.dim())", "1"])
def test_a_parameter_is_the_options_only_where_a_call_gives_it_those(read: str) -> None:
    values = {"dtype": "'bfloat16'", "dim": "1", "width": "4"}
    found = definitions(TAKEN.format(read=read), command_line=CommandLine((), values))
    assert "torch.ones(3, dtype=arg" in found and "='bfloat16'" not in found
    assert "torch.ones(4, dtype=arg" in found


def test_a_method_that_leads_to_the_call_is_written_where_it_is_called() -> None:
    values = {"width": "4", "mode": "'velkor-fast'", "plain": "False", "seed": "3"}
    found = rebuild_parsed(PARSED, CommandLine((), values))
    loop = found[found.rindex("for ") :]
    assert re.search(r"with torch.no_grad\(\):\n +out = \w+\.attr\d\(\w+\)", loop), loop
    assert "return" not in loop and "self" not in loop


@pytest.mark.parametrize(
    "read, known",
    [
        ("int(sys.argv[1]) if len(sys.argv) > 1 else 5", "7"),
        ("float(sys.argv[2]) if len(sys.argv) > 2 else 5", "5"),
        ("len(sys.argv[1:])", "1"),
    ],
)
def test_what_is_computed_of_the_command_line_is_a_number(read: str, known: str) -> None:
    text = f"""
        import sys
        import torch

        width = {read}
        torch.compile(torch.relu)(torch.ones(width))  # fails
        """
    assert f"= {known}\n" in definitions(text, command_line=CommandLine(["7"]))


def test_a_word_of_the_command_line_is_no_public_text() -> None:
    text = """
        import sys
        import torch

        mode = sys.argv[1]
        x = torch.ones(3 if mode == "velkor" else 2)
        torch.compile(torch.relu)(x)  # fails
        """
    assert "velkor" not in definitions(text, command_line=CommandLine(["velkor"]))


def test_a_function_that_gets_what_is_compiled_is_written_where_it_is_called() -> None:
    text = """
        import torch

        class Probe:
            def __init__(self):
                self.fast = torch.compile(torch.relu)

            def slope(self, function, x):
                x = x.requires_grad_()
                function(x).sum().backward()  # slope's
                return x.grad

        probe = Probe()
        got = probe.slope(probe.fast, torch.ones(2))  # slope
        """
    found = definitions(text, marker="# slope's", inside=["slope"])
    assert re.search(r"compiled = value1\.\w+\n", found)
    assert re.search(r"out = compiled\(\w+\)$", found)


def test_what_is_shown_of_a_call_is_no_reason_to_leave_it_out() -> None:
    text = """
        import torch

        def settle(x):
            return fast(x)

        fast = torch.compile(torch.relu)
        print("shape", settle(torch.ones(2)).shape)
        assert settle(torch.ones(3)) is not None
        assert torch.equal(fast(torch.ones(4)), torch.ones(4))
        fast(torch.ones(5))  # fails
        """
    lines = definitions(text).splitlines()
    sizes = [re.findall(r"ones\((\d)\)", line) for line in lines]
    assert [size for (size,) in filter(None, sizes)] == ["2", "3", "4", "5"]


def test_numpy_is_as_public_as_python() -> None:
    text = """
        import numpy as np
        import torch

        counts = torch.tensor(np.ones(3))
        fast = torch.compile(torch.relu)
        fast(counts)  # fails
        """
    assert "torch.tensor(numpy.ones(3))" in definitions(text)


def test_a_decorator_that_would_be_lost_ends_the_rewriting() -> None:
    text = """
        import torch

        def twice(function):
            function()
            return function

        @twice
        def main():
            torch.compile(torch.relu)(torch.ones(2))  # fails

        main()  # main
        """
    with pytest.raises(SourceError, match="a function with a decorator"):
        rebuild(text, inside=["main"])


def test_a_backend_of_the_scripts_own_ends_the_rewriting() -> None:
    text = """
        import torch

        def own(gm, _):
            return gm.forward

        torch.compile(torch.relu, backend=own)(torch.ones(2))  # fails
        """
    with pytest.raises(SourceError, match="a custom backend"):
        rebuild(text)


def test_a_step_that_is_called_in_a_loop_is_written_into_the_loop() -> None:
    text = """
        import torch

        def train(rate, fast):
            model = torch.nn.Linear(2, 2)
            forward = torch.compile(model) if fast else model
            seen = []

            def step(x, scale):
                out = forward(x)  # fails
                seen.append(scale)
                out.sum().backward()

            step(torch.ones(2), 1.0)
            for _ in range(3):
                if rate > 1:
                    step(torch.ones(2), rate)  # step
            return seen

        def main():
            print(list(train(2.0, True)))  # train

        main()  # main
        """
    found = rebuild(text, inside=["main", "train", "step"]).program.write_definitions()
    loop = found[found.rindex("for ") :]
    assert "= 2.0\n" in found and "if value" in found
    assert "if value1 > 1:" in loop and ".sum().backward()" in loop
    assert re.search(r"out = \w+\(\w+\)", loop) and "return" not in loop


def test_what_a_loop_goes_on_with_reads_the_value_of_the_failing_call() -> None:
    text = """
        import random
        import torch

        def draw(x, source):
            assert len(x) == 2
            return x + source.randint(1, 9)

        fast = torch.compile(draw)
        ours, theirs = random.Random(0), random.Random(0)
        total = torch.ones(2)
        for turn in range(3):
            print("turn", turn)
            want, got = draw(total, ours), fast(total, theirs)  # fails
            print(turn, want, got)
            assert torch.equal(want, got), turn
            torch.testing.assert_close(want, got)
            if not torch.equal(want, got):
                raise RuntimeError(f"{turn} differs")
            total = got + 2
        """
    found = rebuild(text).program.write_definitions()
    loop = found[found.index("for ") :].splitlines()
    assert [line.split(" = ")[-1] for line in loop[1:]] == [
        "compiled(value1, value4)",
        "(fn(value1, value3), out)",
        "value6 + 2",
    ]
    assert "assert" in found[: found.index("for ")]


ASSERTION = ReproAssertion(Kind.STALE_GRAPH, (("dynamic", "True"),), double=False)
DRAWS = """
    import random
    import torch

    def draw(amount, source):
        return amount + source.randint(1, 9)

    fast = torch.compile(draw)
    source = random.Random(0)
    amount = torch.ones(2)
    fast(amount, source)
    got = fast(amount, source)  # fails
    """


def test_each_side_runs_a_script_that_has_what_one_function_compiles_to() -> None:
    assert plain(DRAWS, ASSERTION, PlainForm.WHOLE) == textwrap.dedent("""\
        import random

        import torch


        def fn(x, y):
            return x + y.randint(1, 9)


        def run(call):
            y = random.Random(0)
            x = torch.ones(2)
            call(x, y)
            return call(x, y)


        torch.testing.assert_close(run(torch.compile(fn, dynamic=True)), run(fn))
        """)


def test_each_side_runs_a_script_that_compiles_what_it_makes() -> None:
    found = plain(STALE, ASSERTION, PlainForm.WHOLE)
    assert "def run(compile):\n    class Thing:" in found
    assert "    compiled = compile(fn)\n" in found and "    return compiled(y)\n" in found
    compiled, eager = "run(lambda fn: torch.compile(fn, dynamic=True))", "run(lambda fn: fn)"
    assert found.endswith(f"torch.testing.assert_close(\n    {compiled}, {eager}\n)\n")


def test_a_script_that_each_side_runs_may_end_in_a_loop() -> None:
    text = DRAWS.replace("    got = fast", "    for _ in range(2):\n        got = fast")
    found = plain(text, ASSERTION, PlainForm.WHOLE | PlainForm.RESEED)
    assert "def run(call):\n    torch.manual_seed(0)\n" in found
    assert "        out = call(x, y)\n" in found and "    return out\n" in found


def test_only_a_script_whose_values_are_compared_is_run_by_each_side() -> None:
    assertion = ReproAssertion(Kind.WRONG_GRADIENT, backward="sum")
    body = Candidate(rebuild(DRAWS), assertion).build_body()
    assert write_plain_program(body, assertion, PlainForm.WHOLE) is None


def test_a_function_that_needs_the_scripts_classes_or_variables_stays_in_the_run() -> None:
    text = DRAWS.replace("def draw", "class Rate:\n        grad = 2\n\n    def draw").replace(
        "return amount +", "return Rate.grad * amount +"
    )
    found = plain(text, ASSERTION, PlainForm.WHOLE)
    assert "\ndef fn" not in found and "    def fn(x, y):\n" in found
    counted = """
        import torch

        def main():
            count = 0

            def draw(amount):
                nonlocal count
                count = 2
                return amount + count

            fast = torch.compile(draw)
            got = fast(torch.ones(2))  # fails

        main()  # main
        """
    body = Candidate(rebuild(counted, inside=["main"]), ASSERTION).build_body()
    found = write_plain_program(body, ASSERTION, PlainForm.WHOLE) or ""
    assert "\ndef fn" not in found and "        nonlocal " in found
