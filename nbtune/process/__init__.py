"""Starting a job's supervisor and holding on to it: descriptors, no thread."""

from .running import Running
from .start import start

__all__ = ["Running", "start"]
