"""Devices, and how a product would be computed there."""

from typing import List, NamedTuple, Optional

from . import _core


class Device(NamedTuple):
    """A device that the library can compute on: kind ("cpu", "cuda" or "hip"), ordinal among its kind, name."""

    kind: str
    ordinal: int
    name: str


class Plan(NamedTuple):
    """A product's kernel, its predicted time (µs; infinite on the CPU) and its workspace (bytes)."""

    kernel: Optional[str]
    time_us: float
    workspace_bytes: int


def devices() -> List[Device]:
    """All GPUs, then the CPU.

    >>> import kernelwright as kw
    >>> kw.devices()[-1].kind
    'cpu'
    """
    return [Device(*found) for found in _core.devices()[0]]


def _ordinal(device: Optional[Device]) -> int:
    if device is None:
        device = devices()[0]
    return _core.ON_CPU if device.kind == "cpu" else device.ordinal


def plan(m: int, n: int, k: int, *, math: str = "fp32", device: Optional[Device] = None) -> Plan:
    """How an m×n product of dense matrices with k addends would be computed on a device (None: the first)."""
    return Plan(*_core.plan(m, n, k, math, _ordinal(device), None))


def synchronize(device: Optional[Device] = None, stream: Optional[int] = None) -> None:
    """Waits until the work on a stream of a device is done (None: the first device, its default stream).

    DeviceError: what the device found wrong since.
    """
    _core.synchronize(_ordinal(device), stream)
