import pytest
from tallies import fast_tally


@pytest.fixture(params=[20, 30])
def size(request):
    return request.param


class TestTally:
    @pytest.mark.parametrize("times", [1, 2])
    def test_it(self, size, times, capsys, monkeypatch):
        monkeypatch.setenv("TALLY", "1")
        print("counting")
        try:
            made = fast_tally()
        finally:
            assert capsys.readouterr().out == "counting\n"
        assert len(made) == times
