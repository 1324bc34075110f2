"""The exceptions of the package: one for each status of the C interface, whose sentence they carry."""


class Error(RuntimeError):
    """Every failure of the library; `status` is the C interface's name of it."""

    status = "internal_error"


class InvalidArgumentError(Error, ValueError):
    """An argument breaks the documented contract; nothing was written."""

    status = "invalid_argument"


class UnsupportedError(Error, NotImplementedError):
    """No kernel of this build computes the problem on this device."""

    status = "unsupported"


class NoDeviceError(Error):
    """The asked device is not there."""

    status = "no_device"


class OutOfMemoryError(Error, MemoryError):
    """The device has no memory for a context, or for a reduction's workspace."""

    status = "out_of_memory"


class WorkspaceTooSmallError(Error):
    """A reduction needs more workspace than it may have."""

    status = "workspace_too_small"


class DeviceError(Error):
    """The device's runtime reported an error, perhaps of an earlier call."""

    status = "device_error"


class InternalError(Error):
    """A defect of the library."""


class UnusableFileError(Error, OSError):
    """A file is missing or not what the call needs."""

    status = "unusable_file"


class CopyWarning(UserWarning):
    """An array was copied, because no call of BLAS can express its strides.

    `warnings.simplefilter("error", kernelwright.CopyWarning)` makes it an error.
    """


BY_STATUS = {
    1: InvalidArgumentError,
    2: UnsupportedError,
    3: NoDeviceError,
    4: OutOfMemoryError,
    5: WorkspaceTooSmallError,
    6: DeviceError,
    7: InternalError,
    8: UnusableFileError,
}
