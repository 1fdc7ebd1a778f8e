"""What the numbers were measured on: machine, versions, revision; neither paths nor host names."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.environment import cores

ROOT = Path(__file__).resolve().parents[1]


def describe() -> dict[str, object]:
    """Processor, cores, memory, kernel, operating system, governor and Python."""
    return {
        "cpu": _cpu_model(),
        "cores": cores(),
        "cores_present": os.cpu_count(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "kernel": f"{platform.system()} {platform.release()}",
        "os": _os_name(),
        "libc": " ".join(platform.libc_ver()),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "python": platform.python_version(),
    }


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def load() -> list[float]:
    """Average number of runnable processes over the last 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def revision() -> dict[str, object]:
    """Git revision of the tree, and whether tracked files differ from it."""
    return {"commit": _git("rev-parse", "HEAD"), "modified": bool(_git("status", "--porcelain", "-uno"))}


def package_version(name: str) -> str | None:
    """The installed version of a distribution; None where there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _cpu_model() -> str | None:
    lines = (_read("/proc/cpuinfo") or "").splitlines()
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or None)


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()
