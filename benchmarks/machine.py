"""A description of the machine on which the measurements were made."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path


def cpu_model() -> str:
    """Return the name of the processor, if the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def version(package: str) -> str | None:
    """Return the version of an installed distribution."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def describe_machine(packages: set[str]) -> dict[str, str]:
    """Return processor, cores, system, Python, and the versions of the packages."""
    description = {
        "processor": cpu_model(),
        "cores": str(os.cpu_count()),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    for package in sorted(packages):
        description[package] = version(package) or "not installed as a distribution"
    return description
