"""What argparse made of a command line, as a copy of the program tells it."""

from __future__ import annotations

from pathlib import Path

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


def test_plain_options_are_told(tmp_path: Path) -> None:
    recording = watch(PROGRAM, tmp_path)
    (finding,) = recording.findings
    try:
        answer = finding.call_session.request(questions.gather(), 60)
        assert answer.get("parsed") == {"rate": "0.5", "sizes": "[2, 3]"}
    finally:
        recording.close()
