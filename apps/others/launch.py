"""Runs a script as `python3 SCRIPT ARGUMENTS` does, after seeding the generators that its author left unseeded, so that
two runs can be compared: launch.py PACKAGES SCRIPT ARGUMENTS. The script itself stays as it is."""

import random
import runpy
import sys
from pathlib import Path

SEED = 0


def seed(packages: list[str]) -> None:
    random.seed(SEED)
    import numpy

    numpy.random.seed(SEED)
    if "torch" in packages:
        import torch

        torch.manual_seed(SEED)


if __name__ == "__main__":
    packages, *sys.argv = sys.argv[1:]
    seed(packages.split(","))
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
