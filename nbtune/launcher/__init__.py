"""The launcher process and the ranks: the only code that imports torch.distributed.

Never imported by the kernel; the supervisor starts it by name.
"""
