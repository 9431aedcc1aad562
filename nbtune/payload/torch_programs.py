"""Code that torch holds: compiled functions, scripts, custom operators, wrappers."""

from __future__ import annotations

import importlib
import inspect
import io
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .loading import itself
from .packing import Packing

__all__ = ["is_compiled", "reduce_compiled", "reducer_for"]

_Reducer = Callable[[Any, Packing], Any]


def reducer_for(kind: type) -> _Reducer | None:
    """The reducer for objects of this exact type, if there is one here."""
    if "torch" not in sys.modules:
        return None
    for module, name, reducer in _REDUCERS:
        # Only what is imported already can have made the object.
        cls = getattr(sys.modules.get(module), name, None)
        if isinstance(cls, type) and issubclass(kind, cls):
            return reducer
    return None


def is_compiled(function: types.FunctionType) -> bool:
    """Whether ``torch.compile`` or ``torch.compiler.disable`` made it."""
    # ``functools.wraps`` copies the marks; the id tells the original.
    return vars(function).get("_torchdynamo_wrapper_id") == id(function)


def reduce_compiled(function: types.FunctionType) -> Any:  # noqa: ANN401 - a pickle reduction
    """Reduce a compiled function: the original travels and is compiled again."""
    original = vars(function)["_torchdynamo_orig_callable"]
    if vars(function).get("_torchdynamo_disable"):
        return _disable, (original,)
    return _compile, (original, _settings(_closure(function)["self"]))


def _reduce_compiled_module(module: Any, _: Packing) -> Any:  # noqa: ANN401 - torch's
    return _compile, (module._orig_mod, _settings(module.dynamo_ctx))  # noqa: SLF001 - no other way


def _settings(context: Any) -> dict[str, object]:  # noqa: ANN401 - torch's
    """What ``torch.compile`` was called with, from what it made of it."""
    eval_frame = importlib.import_module("torch._dynamo.eval_frame")
    backend = eval_frame.innermost_backend(context.callback)
    settings: dict[str, object] = {
        "fullgraph": bool(getattr(context, "fullgraph", False)),
        "dynamic": context._dynamic,  # noqa: SLF001 - torch keeps it nowhere else
    }
    if getattr(backend, "compiler_name", "") == "inductor":
        return {**settings, "options": backend.config or None}
    compiler = getattr(backend, "compiler_fn", backend)
    return {**settings, "backend": compiler, **getattr(backend, "kwargs", {})}


def _compile(original: object, settings: dict[str, object]) -> object:
    return importlib.import_module("torch").compile(original, **settings)


def _disable(original: object) -> object:
    return importlib.import_module("torch.compiler").disable(original)


def _reduce_script(script: Any, _: Packing) -> Any:  # noqa: ANN401 - torch's
    return _load_script, (script.save_to_buffer(),)


def _load_script(data: bytes) -> object:
    return importlib.import_module("torch.jit").load(io.BytesIO(data))


def _reduce_operator(operator: Any, _: Packing) -> Any:  # noqa: ANN401 - torch's
    kernels = [
        (device, _closure(inspect.unwrap(kernel))["fn"])
        for device, kernel in operator._backend_fns.items()  # noqa: SLF001 - no other way
    ]
    extras = {name: getattr(operator, name) for name in _EXTRAS}
    made = (operator._qualname, operator._schema, operator._init_fn)  # noqa: SLF001 - no other way
    return _make_operator, (*made, operator._tags, kernels, extras)  # noqa: SLF001 - no other way


_EXTRAS = ("_abstract_fn", "_backward_fn", "_setup_context_fn", "_vmap_fn")


def _make_operator(
    name: str,
    schema: str,
    function: Callable[..., object],
    tags: Sequence[object],
    kernels: Sequence[tuple[str | None, Callable[..., object]]],
    extras: Mapping[str, Any],
) -> object:
    ops = importlib.import_module("torch._library.custom_ops")
    existing = ops.OPDEFS.get(name)
    if existing is not None:
        # To define it again would take it away from this side's code.
        return existing
    operator = ops.CustomOpDef(*name.split("::"), schema, function, tags)
    for device, kernel in kernels:
        operator.register_kernel(device)(kernel)
    if extras["_abstract_fn"] is not None:
        operator.register_fake(extras["_abstract_fn"])
    if extras["_backward_fn"] is not None:
        setup = extras["_setup_context_fn"]
        operator.register_autograd(extras["_backward_fn"], setup_context=setup)
    if extras["_vmap_fn"] is not None:
        operator.register_vmap(extras["_vmap_fn"])
    return operator


def _closure(function: types.FunctionType) -> dict[str, Any]:
    cells = function.__closure__ or ()
    names = function.__code__.co_freevars
    return {n: cell.cell_contents for n, cell in zip(names, cells, strict=True)}


def _reduce_replicated(model: Any, _: Packing) -> Any:  # noqa: ANN401 - torch's
    # It cannot be loaded without its process group; what it wraps can.
    return itself, (model.module,)


_REDUCERS: tuple[tuple[str, str, _Reducer], ...] = (
    (
        "torch.nn.parallel.distributed",
        "DistributedDataParallel",
        _reduce_replicated,
    ),
    ("torch._dynamo.eval_frame", "OptimizedModule", _reduce_compiled_module),
    ("torch.jit", "ScriptModule", _reduce_script),
    ("torch.jit", "ScriptFunction", _reduce_script),
    ("torch._library.custom_ops", "CustomOpDef", _reduce_operator),
)
