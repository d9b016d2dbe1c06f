import pytest
import torch
from tallies import fast_tally


def test_nothing():
    pass


def test_right():
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).sum() == 4


def test_wrong(capsys):
    print("before")
    with pytest.raises(AttributeError):
        fast_tally()
    assert capsys.readouterr().out == "before\n"
