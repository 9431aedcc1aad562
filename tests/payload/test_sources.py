"""Texts of cells."""

from __future__ import annotations

import linecache

import pytest

from nbtune.payload import sources


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch):
    monkeypatch.setattr(linecache, "cache", {})


def test_only_texts_that_are_in_no_file_are_collected(tmp_path):
    real = tmp_path / "real.py"
    real.write_text("x = 1\n")
    linecache.cache["<cell>"] = (4, None, ["a\n", "b\n"], "<cell>")
    linecache.cache["<lazy>"] = (lambda: "text",)
    linecache.getlines(str(real))
    names = ["<cell>", "<lazy>", str(real), "<unknown>"]
    assert sources.collect(names, {"<cell>": 3}) == {"<cell>": ("a\nb\n", 3)}


def test_texts_are_found_by_linecache_afterwards_and_stay():
    numbers = sources.register({"<a>": ("x\ny\n", 3), "<b>": ("z", None)})
    linecache.checkcache()
    assert (linecache.getline("<a>", 2), linecache.getlines("<b>")) == ("y\n", ["z"])
    assert numbers == {"<a>": 3}
