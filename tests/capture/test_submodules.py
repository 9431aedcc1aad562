"""Modules reached as attributes of a package."""

import xml.etree.ElementTree  # noqa: ICN001 - the name xml is what counts

from nbtune.capture.submodules import submodules_used

ROOTS = {"xml": xml, "x": 1}


def test_a_submodule_that_the_cell_uses_is_found():
    found = submodules_used("xml.etree.ElementTree.fromstring('<a/>')", ROOTS)
    assert found == {
        "xml.etree": xml.etree,
        "xml.etree.ElementTree": xml.etree.ElementTree,
    }


def test_a_submodule_that_the_cell_does_not_use_is_left_alone():
    assert submodules_used("xml.dom", ROOTS).keys() <= {"xml.dom"}
    assert submodules_used("x", {"x": 1}) == {}


def test_attributes_in_functions_and_awaits_count():
    source = "async def f():\n    return xml.etree\nawait f()"
    assert "xml.etree" in submodules_used(source, ROOTS)
