"""What argparse made of a command line, as a copy of the program tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporter.recording import questions
from tests.support.watched import watch

PROGRAM = """
import argparse
import torch

@torch.compile(backend="eager")
def scale(x, rate):
    return x * rate if torch.compiler.is_compiling() else x

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--device", type=torch.device, default="cpu")
    parser.add_argument("--sizes", nargs="*", default=[2, 3])
    parser.add_argument("--twice", default=1)
    options = parser.parse_args([])
    other = argparse.Namespace(twice=2)
    scale(torch.ones(options.sizes), options.rate)
    return other

main()
"""


#: It keeps nothing of what argparse has made: neither the whole, nor the part of a subcommand.
LET_GO = """
import argparse
import torch

@torch.compile(backend="eager")
def scale(x, rate):
    return x * rate if torch.compiler.is_compiling() else x

def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=0.25)
    train = parser.add_subparsers().add_parser("train")
    train.add_argument("--sizes", nargs="*", default=[2, 3])
    return parser.parse_args(["train"])

class Run:
    def __init__(self, options):
        options.rate *= 2
        self.x = torch.ones(options.sizes)
        self.rate = options.rate
        options.sizes = [3]

Run(parse()).x.sum()
run = Run(parse())
scale(run.x, run.rate)
"""


@pytest.mark.parametrize("program, sizes", [(PROGRAM, "[2, 3]"), (LET_GO, "[3]")])
def test_plain_options_are_told(program: str, sizes: str, tmp_path: Path) -> None:
    recording = watch(program, tmp_path)
    (finding,) = recording.findings
    try:
        answer = finding.call_session.request(questions.gather(), 60)
        assert answer.get("parsed") == {"rate": "0.5", "sizes": sizes}
    finally:
        recording.close()
