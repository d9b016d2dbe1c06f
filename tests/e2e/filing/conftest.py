"""A tracker and a report to file, for whoever asks for them."""

from tests.support.github.fixtures import report, tracker, waits

__all__ = ["report", "tracker", "waits"]
