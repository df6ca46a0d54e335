from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "partwise",
    # The same examples wherever and whenever the tests run, unless others are asked for.
    derandomize=not os.environ.get("EXPLORE"),
    # Neither an example nor the drawing of one has to be quick: a machine may be busy.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("partwise")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--mutations", type=int, default=200, help="damaged files per format (default: 200)"
    )
