"""`python -m reporter` is the command `bugreport`; nothing heavy is imported before the verb is
known.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and end the process with its exit code."""
    try:
        from reporter.cli.main import run
        from reporter.core import tokens

        tokens.take()
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("bugreport: interrupted\n")
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
