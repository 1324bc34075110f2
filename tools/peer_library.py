"""What the scripts that measure PyTorch beside libkernelwright share: the library through its C interface, and the driver."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path


class PeerLibrary:
    """A context of libkernelwright on a CUDA stream."""

    def __init__(self, path: Path, stream: int):
        self.c = ctypes.CDLL(str(path.resolve()))  # else "x.so" means one of the system's
        self.c.kwLastErrorMessage.restype = ctypes.c_char_p
        self.c.kwVersion.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        self.check(self.c.kwCreateGpuOnStream(ctypes.byref(self.handle), ctypes.c_void_p(stream), 0))

    def check(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(self.c.kwLastErrorMessage(self.handle).decode())


def driver() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
