"""The command `bugreport` and everything that decides; it runs on the host and never imports torch.

Its rooms form levels, from `core` up to `cli`; each imports only from rooms below it (see
ARCHITECTURE.md).
"""

from reporter.core.version import VERSION

__version__ = VERSION
