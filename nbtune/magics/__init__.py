"""The magics: parse, call one function, display. Only here is IPython's shell known."""

from .registration import register, unregister

__all__ = ["register", "unregister"]
