"""python -m kernelwright: what is here (devices), whether it is right (verify), how fast it is (bench)."""

import argparse
import sys
import time

import numpy as np

import kernelwright as kw
from kernelwright import _core


def find_device(text):
    """The device of --device: "cpu", "cuda:0"; None: the first."""
    here = kw.devices()
    if text is None:
        return here[0]
    kind, _, ordinal = text.partition(":")
    for device in here:
        if device.kind == kind and device.ordinal == int(ordinal or 0):
            return device
    raise kw.NoDeviceError(f"there is no device {text}: `python -m kernelwright devices` lists those that are")


class Memory:
    """Arrays on a device, by NumPy, or by PyTorch or CuPy where it is a GPU."""

    def __init__(self, device):
        self.device = device
        self.package = None
        if device.kind == "cpu":
            return
        for name in ("torch", "cupy"):
            try:
                self.package = __import__(name)
                return
            except ImportError:
                pass
        raise kw.NoDeviceError("a GPU's arrays take PyTorch or CuPy, and neither is installed: pass --device cpu")

    def put(self, array):
        if self.package is None:
            return array
        if self.package.__name__ == "torch":
            return self.package.from_numpy(array).cuda(self.device.ordinal)
        with self.package.cuda.Device(self.device.ordinal):
            return self.package.asarray(array)

    def get(self, array):
        if self.package is None:
            return array
        return array.cpu().numpy() if self.package.__name__ == "torch" else self.package.asnumpy(array)

    def peer(self, a, b):
        return a @ b

    def wait(self):
        if self.package is not None and self.package.__name__ == "torch":
            self.package.cuda.synchronize(self.device.ordinal)
        elif self.package is not None:
            self.package.cuda.Device(self.device.ordinal).synchronize()


def show_devices(_):
    print(f"kernelwright {kw.__version__}")
    found, why_not = _core.devices()
    for kind, ordinal, name in found:
        print(f"{kind if kind == 'cpu' else f'{kind}:{ordinal}'}  {name}")
    if why_not:
        print(f"no GPU: {why_not}")
    return 0


def verify(options):
    """Random products in both arithmetics and sums, every element against float64."""
    memory = Memory(find_device(options.device))
    rng = np.random.default_rng(options.seed)
    wrong = 0
    for number in range(options.count):
        m, n, k = (int(2 ** rng.uniform(0, 9)) for _ in range(3))
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
        expected = a.astype(np.float64) @ b.astype(np.float64)
        bound = 2.0**-23 * (k + 2) * (abs(a).astype(np.float64) @ abs(b).astype(np.float64)) + 1e-30
        for math in ("fp32", "fp32_split"):
            result = memory.get(kw.matmul(memory.put(a), memory.put(b), math=math))
            right = bool(np.all(abs(result - expected) <= bound))
            wrong += not right
            print(f"matmul {m}x{n}x{k} {math}: {'right' if right else 'WRONG'}")
        sums = memory.get(kw.sum(memory.put(a), axis=number % 2))
        expected = a.astype(np.float64).sum(axis=number % 2)
        right = bool(np.all(abs(sums - expected) <= 2.0**-23 * abs(a).sum(axis=number % 2)))
        wrong += not right
        print(f"sum {m}x{k} axis {number % 2}: {'right' if right else 'WRONG'}")
    print(f"{3 * options.count} results, {wrong} wrong")
    return 1 if wrong else 0


def seconds_of(call, memory, least):
    """The median time of a call, in groups that take `least` seconds together."""
    call()
    memory.wait()
    times, began, calls = [], time.perf_counter(), 1
    while time.perf_counter() - began < least or len(times) < 3:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        memory.wait()
        spent = time.perf_counter() - start
        times.append(spent / calls)
        if spent < 1e-3 and calls < 1024:
            calls *= 2
            times = []
    return float(np.median(times))


def bench(options):
    """Square products beside the arrays' own package."""
    memory = Memory(find_device(options.device))
    rng = np.random.default_rng(1)
    peer = "numpy" if memory.package is None else memory.package.__name__
    print(f"{memory.device.name}; GFLOP/s")
    print(f"{'m = n = k':>10}  {peer:>12}  {'fp32':>12}  {'fp32_split':>12}")
    for size in options.sizes:
        a, b = (memory.put(rng.standard_normal((size, size)).astype(np.float32)) for _ in range(2))
        out = memory.put(np.empty((size, size), np.float32))
        calls = [lambda: memory.peer(a, b)]
        calls += [lambda math=math: kw.matmul(a, b, out=out, math=math) for math in ("fp32", "fp32_split")]
        rates = [2 * size**3 / seconds_of(call, memory, options.seconds) / 1e9 for call in calls]
        print(f"{size:>10}  " + "  ".join(f"{rate:>12.4g}" for rate in rates))
    return 0


def main():
    parser = argparse.ArgumentParser(prog="python -m kernelwright", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("devices", help="what the library can compute on").set_defaults(run=show_devices)
    command = commands.add_parser("verify", help=verify.__doc__)
    command.add_argument("--count", type=int, default=20)
    command.add_argument("--seed", type=int, default=1)
    command.set_defaults(run=verify)
    command = commands.add_parser("bench", help=bench.__doc__)
    command.add_argument("--sizes", type=int, nargs="+", default=[128, 512, 1024, 2048, 4096])
    command.add_argument("--seconds", type=float, default=0.1, help="of each measurement")
    command.set_defaults(run=bench)
    for name in ("verify", "bench"):
        commands.choices[name].add_argument("--device", help="cpu, cuda:0, …; default: the first")
    options = parser.parse_args()
    try:
        return options.run(options)
    except kw.NoDeviceError as error:
        print(error, file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
