"""Which names code and annotations use."""

from __future__ import annotations

import typing

import pytest

from nbtune.payload.names import annotation_names, code_names


def _names(text):
    return list(code_names(compile(text, "<test>", "exec")))


def test_attributes_imports_and_stores_are_not_uses():
    assert _names("def f():\n import os\n global n\n n = x.model") == ["x"]


def test_nested_functions_classes_and_comprehensions_are_looked_into():
    text = "def f():\n class C: z = a\n return [b for _ in c], lambda: d"
    assert set(_names(text)) == {"__name__", "a", "b", "c", "d"}


def test_a_deleted_global_is_a_use():
    assert _names("def f():\n global n\n del n") == ["n"]


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ("Optional[Tok]", ["Optional", "Tok"]),
        ("list['Tok']", ["list", "Tok"]),
        ("Literal['train'] | Tok", ["Literal", "Tok"]),
        ("typing.Annotated[Tok, 'text']", ["typing", "Tok"]),
        (list[typing.ForwardRef("Tok")], ["Tok"]),
        (typing.Literal["train"], []),
        (typing.Annotated[typing.ForwardRef("Tok"), "text"], ["Tok"]),
        (typing.Callable[[typing.ForwardRef("Tok")], int], ["Tok"]),
        ("not an expression", []),
        (int, []),
    ],
)
def test_names_in_hints(annotation, names):
    assert list(annotation_names({"x": annotation})) == names


def test_odd_annotations_have_no_names():
    assert annotation_names(None) == {}
