"""What argparse has made is kept by its plain values alone, as they were last."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from collectors.source import parsed_arguments

ROOT = Path(parsed_arguments.__file__).parents[2]
BEGINNING = f"""\
import argparse, gc, sys, threading, weakref
sys.path.insert(0, {str(ROOT)!r})
from collectors.source import parsed_arguments

parsed_arguments.patch(argparse)
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=0.25)


class Model:
    def __init__(self, options):
        self.options = options
"""


def run(program: str) -> str:
    """What a program prints, in a process whose argparse is patched."""
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING + program], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_what_a_program_hangs_on_its_options_is_let_go() -> None:
    program = """
models = []
for _ in range(3):
    options = parser.parse_args([])
    options.model = Model(options)
    models.append(weakref.ref(options.model))
    options.rate *= 2
del options
gc.collect()
print([model() for model in models], parsed_arguments.collect())
"""
    assert run(program) == "[None, None, None] {'rate': '0.5'}"


def test_an_option_that_was_no_plain_value_once_is_not_told() -> None:
    program = """
options = parser.parse_args([])
options.rate = Model(options)
options = parser.parse_args([])
print(parsed_arguments.collect())
"""
    assert run(program + "gc.collect()\nprint(parsed_arguments.collect())") == "{}\n{}"


def test_two_threads_that_parse_at_once_keep_what_both_have_made() -> None:
    program = """
meeting = threading.Barrier(2)


def convert(text):
    meeting.wait()
    return int(text)


def parse(name):
    own = argparse.ArgumentParser()
    own.add_argument(name, type=convert)
    own.parse_args([name, "3"])
    meeting.wait()


threads = [threading.Thread(target=parse, args=(name,)) for name in ("--first", "--second")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(parsed_arguments.collect().items()))
"""
    assert run(program) == "[('first', '3'), ('second', '3')]"
