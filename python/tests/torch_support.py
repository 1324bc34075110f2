"""What the tests of kernelwright.torch share."""

import os

import pytest
import torch

import kernelwright.torch as kt

ON_GPU = torch.cuda.is_available()
MATHS = ["fp32", "fp32_split"]
DEVICES = (["cuda"] if ON_GPU else []) + (["cpu"] if os.environ.get("KW_TEST_DEVICE") != "cuda" else [])


@pytest.fixture(name="device", params=DEVICES)
def torch_device(request):
    """The CPU, and a GPU where one is; KW_TEST_DEVICE=cuda tests there alone."""
    torch.manual_seed(1)
    return request.param


def within(result, expected, addends=1):
    """As PyTorch's own FP32 product would be, against float64."""
    assert result.dtype == torch.float32 and result.shape == expected.shape
    error = (result.detach().double() - expected.detach()).abs()
    bound = 2e-6 * (addends**0.5 + 1) * (1 + expected.detach().abs())
    assert not torch.any(~(error <= bound)), float(error.max())


def served(device, **options):
    return kt.enable(devices=(device,), **options)


class Count:
    """How many products the package computes meanwhile."""

    def __enter__(self):
        from kernelwright.torch import _enable

        self.module, self.before, self.calls = _enable, _enable._core, 0
        outer = self

        class Counted:
            @staticmethod
            def serve(*arguments):
                result = outer.before.serve(*arguments)
                outer.calls += result is not None
                return result

        _enable._core = Counted
        return self

    def __exit__(self, *_):
        self.module._core = self.before
