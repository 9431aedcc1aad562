from __future__ import annotations

import pytest

from nbtune.errors import OptionError
from nbtune.options.fill import Filler, find_close, one_line


class Rude:
    def __str__(self):
        raise RuntimeError("no\ntext")


class RudeError(Exception):
    def __str__(self):
        raise RuntimeError


def rude():
    raise RudeError


NAMES = {"n": 2, "HOME": "notebook", "rude": rude, "r": Rude()}
FILLER = Filler(NAMES, {"HOME": "/home/me", "USER": "me"})


def test_a_notebook_variable_comes_before_the_environment():
    assert FILLER.variable("HOME") == "notebook"
    assert FILLER.variable("USER") == "me"


def test_a_name_that_nobody_has_is_named():
    with pytest.raises(OptionError, match="`nope` is not a notebook variable"):
        FILLER.variable("nope")
    with pytest.raises(OptionError, match=r"^`nope` is not a notebook variable$"):
        FILLER.expression("nope")
    with pytest.raises(
        OptionError, match=r"`b` is not a notebook variable, in {n \+ b}"
    ):
        FILLER.expression("n + b")


def test_an_environment_variable_in_braces_is_told_how_to_write():
    with pytest.raises(OptionError, match=r"write \$USER"):
        FILLER.expression("USER")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1/0", "ZeroDivisionError: division by zero"),
        ("rude()", "RudeError"),
        ("r", "RuntimeError: no text"),
        ("n:nonsense", "ValueError"),
        ("''.join([n])", "TypeError"),
        ("int('x' * 500)", "ValueError"),
    ],
)
def test_an_expression_that_raises_is_one_line(source, words):
    with pytest.raises(OptionError) as caught:
        FILLER.expression(source)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("source", ["n n", "x = 1", "import os", "1 +", "n!r", "\0"])
def test_what_is_no_expression_is_said(source):
    with pytest.raises(OptionError, match="is not a Python expression"):
        FILLER.expression(source)


@pytest.mark.parametrize("source", ["", "  "])
def test_empty_braces_are_said(source):
    with pytest.raises(OptionError, match="is empty"):
        FILLER.expression(source)


def test_an_expression_assigns_nothing_in_the_notebook():
    names = {"n": 2}
    assert Filler(names, {}).expression("(n := 5)") == "5"
    assert names == {"n": 2}


def test_builtins_can_be_used():
    assert FILLER.expression("max(n, 3)") == "3"


def test_an_interrupt_is_not_an_option_error():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Filler({"stop": stop}, {}).expression("stop()")


def test_the_closing_brace_is_found_past_strings_and_braces():
    assert find_close("{'}'}", 1) == 4
    assert find_close("{{1: 2}[1]}", 1) == 10
    assert find_close("{'\\'}'}", 1) == 6
    assert find_close("{", 1) == -1


def test_one_line_shortens():
    assert one_line(" a\n b ") == "a b"
    assert len(one_line("x" * 1000)) < 200
