"""``python -m partwise`` is the same as ``partwise``."""

from __future__ import annotations

import sys

from partwise.cli import main

if __name__ == "__main__":  # workers of a cluster on this machine import this module
    sys.exit(main())
