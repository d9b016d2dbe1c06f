"""The command `bugreport` and everything that decides; it runs on the host and never imports torch."""

__version__ = "0.1.0"
