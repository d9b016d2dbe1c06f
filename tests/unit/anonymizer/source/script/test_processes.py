"""A script of several processes, as one of them alone."""

from __future__ import annotations

import textwrap

import pytest

from anonymizer.source.script.processes import Group, list_groups
from anonymizer.source.script.public_script import rebuild_script
from anonymizer.source.symbols.symbol_table import SourceError

#: Attribute names that torch's objects have, and its words for process groups.
WORDS = frozenset(
    "compile ones distributed init_process_group is_initialized HashStore get_rank rank world_size"
    " store testing _internal fake_pg FakeStore gloo fake backend dim all_reduce".split()
)
ALONE = (
    "    torch.distributed.init_process_group('gloo', rank=0, world_size=1,"
    " store=torch.distributed.HashStore())"
)
SPAWNED = """
    import os
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp

    def work(number, count, width):
        os.environ["MASTER_ADDR"] = "127.0.0.1"
        os.environ.setdefault("MASTER_PORT", "29500")
        dist.init_process_group("gloo", rank=number, world_size=count)
        fast = torch.compile(lambda x: x + dist.get_rank())
        out = fast(torch.ones(count, width))
        dist.destroy_process_group()

    def main():
        mp.spawn(work, args=(3, 5), nprocs=3)

    if __name__ == "__main__":
        main()
"""


def rebuild(text: str, function: str, group: Group = Group.ALONE) -> list[str]:
    """The public lines of a script whose failing call is that of `fast`."""
    text = textwrap.dedent(text)
    line = next(at for at, each in enumerate(text.splitlines(), 1) if "fast(" in each)
    program = rebuild_script(text, [(function, line)], WORDS, group)
    return program.write_definitions().splitlines()


def test_what_each_process_runs_is_written_where_processes_are_started() -> None:
    lines = rebuild(SPAWNED, "work")
    guard = lines.index("if not torch.distributed.is_initialized():")
    assert lines[guard + 1] == ALONE
    assert "out = compiled(torch.ones(value2, value3))" in lines
    assert lines[:3] == ["value1 = 0", "value2 = 1", "value3 = 5"]
    assert not any(word in line for line in lines for word in ("environ", "spawn", "destroy"))


def test_a_group_that_is_not_there_has_its_size() -> None:
    lines = rebuild(SPAWNED, "work", Group.FAKE)
    assert "value2 = 3" in lines
    (made,) = (line for line in lines if "init_process_group(" in line)
    assert "('fake', rank=value1, world_size=value2," in made
    assert "store=torch.testing._internal.distributed.fake_pg.FakeStore())" in made
    assert list_groups(SPAWNED) == (Group.ALONE, Group.FAKE)
    assert list_groups("import torch") == (Group.ALONE,)


def test_a_launcher_tells_a_process_what_a_group_of_one_would() -> None:
    text = """
        import os
        import torch

        torch.distributed.init_process_group("gloo")
        place = int(os.environ["LOCAL_RANK"]) + int(os.environ.get("WORLD_SIZE", "4"))
        fast = torch.compile(lambda x: x + 1)
        out = fast(torch.ones(place))
    """
    lines = rebuild(text, "<module>")
    assert lines[:2] == ["if not torch.distributed.is_initialized():", ALONE]
    assert lines[2] == "value1 = 0 + 1"


def test_processes_that_are_started_in_a_loop_have_its_first_number() -> None:
    text = """
        import torch
        import torch.multiprocessing as mp

        def work(number, count):
            fast = torch.compile(lambda x: x + number)
            out = fast(torch.ones(count))

        started = []
        for at in range(2):
            one = mp.Process(target=work, args=(at, 2))
            one.start()
            started.append(one)
    """
    lines = rebuild(text, "work")
    assert lines[:3] == ["value1 = []", "value2 = 0", "value3 = 2"]
    assert not any("Process" in line for line in lines)


def test_arguments_that_are_made_elsewhere_end_the_rewriting() -> None:
    text = SPAWNED.replace("args=(3, 5)", "args=given")
    with pytest.raises(SourceError, match="not told where it is started"):
        rebuild(text, "work")
