"""What can be had of a frame without running it."""

from __future__ import annotations

import collections
import io
import json
import pickle

from nbtune.payload.loading import LOADING, Loading, known_class
from nbtune.payload.salvage import salvage


class _Known:
    def __init__(self, key):
        self.key = key

    def __reduce__(self):
        return known_class, (self.key,)


def _saved(value, start=0, memo=None):
    return salvage(pickle.dumps(value, protocol=5), start, memo or {})


def test_texts_and_names_of_modules_are_saved_objects_are_not():
    saved = _saved(["text", collections.OrderedDict(a=1), json.dumps])
    assert "text" in saved.values()
    assert collections.OrderedDict in saved.values()
    assert json.dumps in saved.values()
    kinds = {type(value) for value in saved.values()}
    assert not kinds & {list, dict, collections.OrderedDict}


def test_places_are_those_of_the_unpickler():
    value = {"a": ["b", "b"], "c": ("a", collections.Counter)}
    unpickler = pickle.Unpickler(io.BytesIO(pickle.dumps(value, 5)))
    unpickler.load()
    memo = unpickler.memo.copy()
    saved = _saved(value)
    assert len(saved) > 5
    assert all(memo[place] == item for place, item in saved.items())


def test_a_start_shifts_all_places():
    assert set(_saved(["x"], start=10)) == {11}


def test_what_does_not_exist_here_is_left_out():
    frame = b"\x80\x05\x8c\x05ghost\x94\x8c\x05Ghost\x94\x93\x94."
    assert salvage(frame, 0, {}) == {0: "ghost", 1: "Ghost"}


def test_known_classes_are_saved():
    loading = Loading(
        namespace={}, known={"k": int}, views=[], segments=[], buffers=None
    )
    token = LOADING.set(loading)
    try:
        saved = _saved([_Known("k"), _Known("gone")])
    finally:
        LOADING.reset(token)
    assert int in saved.values()
