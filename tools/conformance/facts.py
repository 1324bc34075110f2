"""Prints what a conformance run is on, as JSON: the GPU, and versions of what is here. all.py runs it by itself, so that
it does not hold the device."""

import importlib.metadata
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "apps"))
import worker  # noqa: E402

PACKAGES = {"jax": "jax", "jaxlib": "jaxlib", "cupy": "cupy-cuda13x", "numpy": "numpy"}


def versions() -> dict[str, str]:
    found = {}
    for name, package in PACKAGES.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


print(json.dumps({**worker.facts(None), "packages": versions()}))
