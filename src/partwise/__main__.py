"""``python -m partwise`` is the same as ``partwise``."""

from __future__ import annotations

import sys

from partwise.cli import main

sys.exit(main())
