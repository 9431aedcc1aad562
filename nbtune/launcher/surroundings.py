"""What launcher and ranks find around them: environment, paths, warnings, logging."""

from __future__ import annotations

import logging
import os
import random
import socket
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtune.record import LaunchSpec

__all__ = [
    "plain_torch_logs",
    "prepare_launcher",
    "prepare_rank",
    "restore_torch_logs",
]

_INLINE = "module://matplotlib_inline.backend_inline"
# Read by gloo, NCCL and TensorPipe; without them they look the host name up.
_INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
# torch's agent sets these in the launcher; a rank under torchrun does not see them.
_AGENT_VARIABLES = ("TORCHELASTIC_SIGNALS_TO_HANDLE", "PYTORCH_NVML_BASED_CUDA_CHECK")

# What torch's log handlers had; copied into the ranks by fork.
_formatters: list[tuple[logging.Handler, logging.Formatter | None]] = []


def prepare_launcher(spec: LaunchSpec, error_file: str) -> dict[str, str | None]:
    """Set the launcher's own environment; call it before torch is imported.

    Returns:
        Variables as the ranks are to find them, None for absent.
    """
    before = {name: os.environ.get(name) for name in _AGENT_VARIABLES}
    # LaunchConfig asks for CUDA; through NVML that does not poison later forks.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    os.environ["TORCHELASTIC_ERROR_FILE"] = error_file
    if spec.nproc > 1 and "OMP_NUM_THREADS" not in os.environ:
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
        os.environ["OMP_NUM_THREADS"] = str(max(1, cores // spec.nproc))
    if spec.loopback_port is not None:
        for name in _INTERFACE_VARIABLES:
            os.environ.setdefault(name, _loopback_interface())
    # A rank has no kernel to send figures to.
    if os.environ.get("MPLBACKEND") == _INLINE:
        os.environ["MPLBACKEND"] = "agg"
    # At the end: what the kernel put on its path must not shadow our imports.
    sys.path += [entry for entry in spec.sys_path if entry not in sys.path]
    return before


def prepare_rank(spec: LaunchSpec, before: Mapping[str, str | None]) -> None:
    """Make a forked process look like a freshly started one in the kernel's place."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    os.chdir(spec.cwd)
    sys.path[:] = spec.sys_path
    sys.argv[:] = [""]
    random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    _set_warnings(spec.warning_filters)
    if spec.log_level:
        logging.basicConfig(level=spec.log_level)


def plain_torch_logs() -> None:
    """Let torch's own log handlers write plain lines, in the launcher alone.

    torch's formatter imports the compiler, for seconds, when it meets the first
    error; and in a launcher that is the moment when somebody waits.

    Returns:
        What ``restore_torch_logs`` needs in a rank.
    """
    loggers = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if name.partition(".")[0] == "torch" and isinstance(logger, logging.Logger)
    ]
    handlers = [handler for logger in loggers for handler in logger.handlers]
    _formatters.extend((handler, handler.formatter) for handler in handlers)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    for handler in handlers:
        handler.setFormatter(plain)


def restore_torch_logs() -> None:
    """Undo ``plain_torch_logs`` in a fork; a spawned rank has nothing to undo."""
    while _formatters:
        handler, formatter = _formatters.pop()
        handler.setFormatter(formatter)


def _set_warnings(filters: tuple[tuple[str, str, str, str, int], ...]) -> None:
    if not filters:
        return
    warnings.resetwarnings()
    for action, message, category, module, line in reversed(filters):
        home, _, name = category.rpartition(".")
        kind = getattr(sys.modules.get(home), name, None)
        if isinstance(kind, type) and issubclass(kind, Warning):
            warnings.filterwarnings(action, message, kind, module, line)  # type: ignore[arg-type] # an action read from a file
    # IPython's advice on leaving a terminal makes no sense in a rank.
    warnings.filterwarnings("ignore", "To exit: use", UserWarning)


def _loopback_interface() -> str:
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), "lo")
