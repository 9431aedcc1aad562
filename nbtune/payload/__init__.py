"""How values travel, in both directions: notebook to ranks and back.

A payload is a folder: ``values.pkl`` holds one pickle frame a name, all written
by one pickler so that sharing between names is kept; ``buffers.bin`` holds the
memory of tensors and arrays; ``index.json`` says what is where.

torch is touched only where a value needs it: when packing, if it is imported
already; when unpacking, if the payload holds something of torch's.
"""

from .packer import Packed, pack
from .problems import Problem
from .unpacker import Unpacked, unpack

__all__ = ["Packed", "Problem", "Unpacked", "pack", "unpack"]
