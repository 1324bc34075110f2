"""What tests share: data, and what counts as right."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def within(result, expected, addends):
    """Every element within FP32's error of a sum of `addends` products of elements around 1, against float64."""
    result, expected = np.asarray(result, np.float64), np.asarray(expected, np.float64)
    assert result.shape == expected.shape
    error = np.abs(result - expected)
    bound = 1e-6 * (np.sqrt(addends) + 1) * (np.abs(expected) + np.sqrt(addends) + 1)
    assert not np.any(~(error <= bound)), f"error {np.max(error)} over {np.max(bound)}"
