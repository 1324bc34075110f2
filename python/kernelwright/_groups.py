"""Groups of ranks that are processes, over the C interface (kernelwright.h, kwGroupJoin…)."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Optional

from ._errors import BY_STATUS, Error

_MATHS = {"fp32": 0, "fp32_split": 1}
_ROW_MAJOR, _OP_NONE = 0, 0


class _Distribution(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("rows", "cols", "block_rows", "block_cols")] + [
        (name, ctypes.c_int) for name in ("first_row", "first_col")
    ]


class _Matrix(ctypes.Structure):
    _fields_ = [
        ("whole", _Distribution), ("data", ctypes.c_void_p), ("ld", ctypes.c_int64), ("layout", ctypes.c_int),
        ("op", ctypes.c_int),
    ]  # fmt: skip


def _open_library() -> ctypes.CDLL:
    """The one that the package has loaded, else the one beside it."""
    with open("/proc/self/maps") as maps:
        loaded = [line.split()[-1] for line in maps if "/libkernelwright.so" in line]
    beside = sorted(str(file) for file in Path(__file__).parent.glob("libkernelwright.so*"))
    found = loaded + beside
    if not found:
        raise Error("libkernelwright.so is neither loaded nor beside the package")
    library = ctypes.CDLL(found[0])
    library.kwLastErrorMessage.restype = ctypes.c_char_p
    return library


_library: Optional[ctypes.CDLL] = None


def _call(name: str, *arguments: object) -> None:
    global _library
    if _library is None:
        _library = _open_library()
    status = getattr(_library, name)(*arguments)
    if status != 0:
        message = _library.kwLastErrorMessage(None)
        raise BY_STATUS.get(status, Error)(message.decode(errors="replace") if message else f"status {status}")


class ProcessGroup:
    """This process as one rank of p x q; matrices are dealt out in one block a rank, and stored by rows."""

    def __init__(self, p: int, q: int, rank: int, name: str, ordinal: Optional[int], time_limit_s: float) -> None:
        self.grid, self.rank = (p, q), rank
        self._group = ctypes.c_void_p()
        limit = ctypes.c_double(time_limit_s)
        if ordinal is None:
            _call("kwGroupJoinCpu", ctypes.byref(self._group), p, q, rank, name.encode(), limit)
        else:
            _call("kwGroupJoinGpu", ctypes.byref(self._group), p, q, rank, name.encode(), ordinal, limit)

    def local_shape(self, rows: int, cols: int) -> tuple[int, int]:
        whole = self._distribution(rows, cols)
        found = (ctypes.c_int64(), ctypes.c_int64())
        _call("kwLocalSize", ctypes.byref(whole), *self.grid, self.rank, *(ctypes.byref(size) for size in found))
        return found[0].value, found[1].value

    def multiply(
        self, m: int, n: int, k: int, alpha: float, a: tuple[int, int], b: tuple[int, int], beta: float, c: tuple[int, int],
        math: str, stream: int,
    ) -> None:  # fmt: skip
        """Each of a, b, c: the address of the rank's part and its leading dimension."""
        if math not in _MATHS:
            raise BY_STATUS[1](f'math is "{math}": pass one of {", ".join(_MATHS)}')
        _call("kwGroupSetStream", self._group, self.rank, ctypes.c_void_p(stream))
        parts = [
            ctypes.byref(_Matrix(self._distribution(*whole), address, max(1, ld), _ROW_MAJOR, _OP_NONE))
            for whole, (address, ld) in (((m, k), a), ((k, n), b), ((m, n), c))
        ]
        _call(
            "kwSgemmDistributed", self._group, self.rank, _MATHS[math], ctypes.c_int64(0), ctypes.c_float(alpha), parts[0],
            parts[1], ctypes.c_float(beta), parts[2],
        )  # fmt: skip

    def synchronize(self) -> None:
        _call("kwGroupSynchronize", self._group, self.rank)

    def close_memory(self) -> None:
        _call("kwGroupCloseMemory", self._group, self.rank)

    def abort(self, reason: str) -> None:
        _call("kwGroupAbort", self._group, self.rank, reason.encode())

    def close(self) -> None:
        if self._group and _library is not None:
            _library.kwGroupDestroy(self._group)
        self._group = ctypes.c_void_p()

    def _distribution(self, rows: int, cols: int) -> _Distribution:
        made = _Distribution()
        _call("kwBlockDistribution", ctypes.c_int64(rows), ctypes.c_int64(cols), *self.grid, ctypes.byref(made))
        return made
