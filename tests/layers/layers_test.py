"""Which folder includes which: never upward, never sideways between operations (docs/design.md, "The way of a call").

A file under src may include the public headers, its own folder, and the folders that the table names for it. Files of
one folder that do the work of a higher one have lines of their own."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = {"sgemm", "level3", "cgemm", "ctrsm", "reduce", "rowwise", "scale_add", "attention"}

# What every folder may use: devices, status, kernels as rows, small arithmetic.
BASE = {"arithmetic.hpp", "divider.hpp", "host_device.hpp", "kernel.hpp", "select.hpp", "status.hpp", "table_rows.hpp", "text.hpp", "workspace_parts.hpp"}

MAY_INCLUDE = {
    "kernel.hpp": {"gpu/device.hpp", "status.hpp"},
    "select.hpp": {"kernel.hpp"},
    "table_rows.hpp": {"kernel.hpp"},
    "arithmetic.hpp": {"host_device.hpp"},
    "divider.hpp": {"host_device.hpp"},
    "workspace_parts.hpp": {"arithmetic.hpp"},
    "host_device.hpp": set(),
    "status.hpp": set(),
    "text.hpp": set(),
    "host_simt": BASE | {"gpu"},
    "trace": BASE | {"host_simt"},
    "gpu": BASE | {"host_simt/simt.hpp", "host_simt/polling.hpp"},  # in a build for host SIMT
    "device": BASE | {"gpu", "host_simt/simt.hpp"},
    **{operation: BASE | {"device", "gpu"} for operation in OPERATIONS},
    # Made of products, which it calls through their list of kernels; a split one says whether plain FP32 follows it.
    "level3": BASE
    | {"device", "gpu", "sgemm/problem.hpp", "sgemm/kernels.hpp", "sgemm/shape.hpp", "sgemm/memory_time.hpp"}
    | {"sgemm/apart.hpp", "sgemm/hopper/control.hpp", "sgemm/spread_blocks.hpp"}
    # Tiles of triangles are made as lean_tile's are.
    | {"sgemm/cut_sums.hpp", "sgemm/lean_loop.hpp", "sgemm/lean_tuning.hpp", "sgemm/small_plan.hpp", "sgemm/tile_cut.hpp"},
    # A complex product is a real one (src/cgemm/real_product.hpp).
    "cgemm": BASE | {"device", "gpu", "sgemm"},
    # A complex system is made of complex products, by the halves of a real one.
    "ctrsm": BASE | {"device", "gpu", "cgemm", "sgemm/problem.hpp", "level3/system_by_halves.hpp"}
    | {"level3/substitution.hpp", "level3/own_lines.hpp", "level3/own_lines_plan.hpp"},
    # Elements of 16 bits, and names of types, are as reductions have them.
    "rowwise": BASE | {"device", "gpu", "reduce/numbers/element.hpp", "reduce/problem.hpp"},
    # Splits Q, K, V and weights as products split their operands.
    "attention": BASE | {"device", "gpu", "sgemm/split_arithmetic.hpp"},
    "cpu": BASE | {"gpu"} | OPERATIONS,
    "tune_cache.hpp": BASE | {"sgemm/problem.hpp"},
    "tune_cache.cpp": BASE | {"tune_cache.hpp"},
    "backends.hpp": BASE | {"gpu/runtime.hpp"} | {f"{operation}/problem.hpp" for operation in OPERATIONS},
    "backends.cpp": BASE | {"backends.hpp", "cpu/runtime_cpu.hpp", "gpu"} | {f"{o}/kernels.hpp" for o in OPERATIONS},
    "host_simt/backend.hpp": {"backends.hpp"},
    "host_simt/backend.cpp": BASE | {"backends.hpp", "gpu"} | {f"{operation}/kernels.hpp" for operation in OPERATIONS},
    "api": BASE | {"backends.hpp", "tune_cache.hpp", "gpu"} | {f"{operation}/problem.hpp" for operation in OPERATIONS},
    "distributed": BASE | {"api", "backends.hpp", "gpu"},  # above the operations' calls, beside no other
    "check": BASE | {"gpu", "backends.hpp"} | OPERATIONS,
}


def includes(text):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)


def is_allowed(file, included):
    """`file` and `included` are relative to src, as paths in #include are."""
    folder = file.partition("/")[0]
    if included.startswith("kernelwright/") or (folder != file and included.startswith(folder + "/")):
        return True
    allowed = MAY_INCLUDE.get(file, MAY_INCLUDE.get(folder))
    if allowed is None:
        return False
    return included in allowed or included.partition("/")[0] in allowed


# Computed on the host alone.
WITHOUT_DEVICE_CODE = ("cpu/", "api/", "host_simt/", "sgemm/thin_plan.hpp")


def bit_functions(files):
    """Uses of <bit> in device code which nvcc 13 compiles to a constant, whatever the argument; g++ and so host SIMT
    do not."""
    return [
        f"src/{file} uses std::{function}: __ffs or __clz in device code"
        for file, text in files
        if not file.startswith(WITHOUT_DEVICE_CODE) and not file.endswith(".cpp")
        for function in re.findall(r"std::(count[lr]_(?:zero|one)|bit_(?:width|ceil|floor)|has_single_bit)\b", text)
    ]


def violations(files):
    """`files`: (path relative to src, text)."""
    return [
        f"src/{file} includes {included}: add it to MAY_INCLUDE only if it points downward"
        for file, text in files
        for included in includes(text)
        if not is_allowed(file, included)
    ]


def sources():
    for file in sorted((ROOT / "src").rglob("*")):
        if file.suffix in {".hpp", ".cpp", ".cu"}:
            yield file.relative_to(ROOT / "src").as_posix(), file.read_text()


# Of the Python package: core knows no Python, the others stand on it; all of them on the public C interface.
PYTHON_ROOMS = {"core": set(), "module": {"core"}, "torch": {"core"}, "jax": {"core", "module"}}


def python_violations(files):
    """`files`: (path relative to python/src, text)."""
    found = []
    for file, text in files:
        room = file.partition("/")[0]
        for included in includes(text):
            if included != "kernelwright/kernelwright.h" and included.partition("/")[0] not in PYTHON_ROOMS.get(room, set()) | {room}:
                found.append(f"python/src/{file} includes {included}: it is not below {room}")
    return found


def adapter_violations(files):
    """The adapters stand on the public C interface and on themselves. `files`: (path relative to adapters, text)."""
    found = []
    for file, text in files:
        folder = ROOT / "adapters" / file.partition("/")[0]
        for included in includes(text):
            if included != "kernelwright/kernelwright.h" and not (folder / included).exists():
                found.append(f"adapters/{file} includes {included}: take what kernelwright.h has")
    return found


class Layers(unittest.TestCase):
    def test_adapters_stand_on_the_c_interface(self):
        files = [
            (file.relative_to(ROOT / "adapters").as_posix(), file.read_text())
            for file in sorted((ROOT / "adapters").rglob("*"))
            if file.suffix in {".hpp", ".cpp"}
        ]
        self.assertGreater(len(files), 10)
        self.assertEqual(adapter_violations(files), [])
        for included in ("kernelwright/sgemm.hpp", "api/calls.hpp", "sgemm/problem.hpp"):
            self.assertEqual(len(adapter_violations([("cublas/a.cpp", f'#include "{included}"\n')])), 1, included)

    def test_device_code_has_no_bit_function_that_nvcc_takes_for_a_constant(self):
        self.assertEqual(bit_functions(sources()), [])
        for function in ("countr_zero", "bit_width", "countl_zero"):
            self.assertEqual(len(bit_functions([("sgemm/thin.cu", f"int x = std::{function}(y);")])), 1, function)
        for allowed in ("std::popcount(x)", "std::bit_cast<int>(x)"):
            self.assertEqual(bit_functions([("sgemm/thin.cu", allowed)]), [])

    def test_the_python_package_stands_on_the_c_interface(self):
        root = ROOT / "python" / "src"
        files = [
            (file.relative_to(root).as_posix(), file.read_text())
            for file in sorted(root.rglob("*"))
            if file.suffix in {".hpp", ".cpp"}
        ]
        self.assertGreater(len(files), 10)
        self.assertEqual(python_violations(files), [])
        for file, included in (("core/a.cpp", "module/b.hpp"), ("torch/a.cpp", "module/b.hpp"), ("module/a.cpp", "kernelwright/sgemm.hpp")):
            self.assertEqual(len(python_violations([(file, f'#include "{included}"\n')])), 1, included)

    def test_no_file_includes_a_higher_or_a_sideways_one(self):
        self.assertEqual(violations(sources()), [])

    def test_the_table_names_what_is_there(self):
        for name in MAY_INCLUDE:
            self.assertTrue((ROOT / "src" / name).exists(), f"{name} in MAY_INCLUDE is not in src")

    def test_the_rules_catch_what_they_are_for(self):
        upward_or_sideways = {
            "device/tile.hpp": "sgemm/problem.hpp",
            "gpu/runtime.hpp": "reduce/problem.hpp",
            "gpu/gpu.hpp": "device/warp.hpp",
            "sgemm/stream/plan.hpp": "reduce/walk/order.hpp",
            "sgemm/thin.cu": "api/calls.hpp",
            "reduce/walk/walk.hpp": "backends.hpp",
            "kernel.hpp": "sgemm/problem.hpp",
            "cpu/cpu_loop.cpp": "api/check.hpp",
            "api/sgemm.cpp": "sgemm/stream/plan.hpp",
            "unknown/file.hpp": "status.hpp",
        }
        for file, included in upward_or_sideways.items():
            self.assertEqual(len(violations([(file, f'#pragma once\n  #include "{included}"\n')])), 1, file)
        downward = {"sgemm/thin.cu": "device/tile.hpp", "sgemm/hopper/a.hpp": "sgemm/problem.hpp", "api/a.cpp": "kernelwright/sgemm.hpp"}
        for file, included in downward.items():
            self.assertEqual(violations([(file, f'#include "{included}"\n')]), [])


if __name__ == "__main__":
    unittest.main()
