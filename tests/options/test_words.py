from __future__ import annotations

import random
import shlex

import pytest

from nbtune.errors import OptionError
from nbtune.options.words import join_continuation, split_words


def split(line, environ=None, **names):
    return split_words(line, namespace=names, environ=environ or {})


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "--nproc_per_node 2",
        "--name 'my run' --tee=3",
        '--name "it\'s fine"',
        "a\\ b c",
        "''",
        "x'y z'w",
        '"a\\"b"',
        '"C:\\tmp"',
        "'a\\b'",
        "tags='[a, b]' out=\"my runs/x\"",
        "a\tb\nc",
        "--name=\"\" ''",
    ],
)
def test_words_are_those_of_a_posix_shell(line):
    assert split(line) == shlex.split(line)


def test_whatever_shlex_joins_comes_back_whole():
    source = random.Random(0)
    letters = "ab -'\"\\{}$#=,*~\n\t`é|&;"
    for _ in range(2000):
        words = [
            "".join(source.choices(letters, k=source.randrange(8))) for _ in range(4)
        ]
        assert split(shlex.join(words)) == words


def test_any_line_gives_words_or_one_line_of_error():
    source = random.Random(1)
    letters = "a1 -'\"\\{}$#=,:.[]()\n"
    for _ in range(3000):
        line = "".join(source.choices(letters, k=source.randrange(16)))
        message = "none"
        try:
            assert all(isinstance(word, str) for word in split(line, a=1))
        except OptionError as error:
            message = str(error)
        assert message
        assert "\n" not in message


@pytest.mark.parametrize("line", ["--name it's", '--name "x', "'", '"', "a'b' '"])
def test_a_quote_that_is_not_closed_is_named(line):
    with pytest.raises(OptionError, match="a quote is never closed"):
        split(line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--nproc 2   # two ranks", ["--nproc", "2"]),
        ("# all of it's a comment", []),
        ("--name run#3", ["--name", "run#3"]),
        ("--name '# no'", ["--name", "# no"]),
        ('--name "# no"', ["--name", "# no"]),
        ("--name \\# no", ["--name", "#", "no"]),
        ("a # {nope} $nope\nb", ["a", "b"]),
    ],
)
def test_a_comment_begins_at_the_start_of_a_word(line, words):
    assert split(line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{n}", ["2"]),
        ("$n", ["2"]),
        ("${n}", ["2"]),
        ("--nproc={n}", ["--nproc=2"]),
        ("a{n}b$n.c${n}d", ["a2b2.c2d"]),
        ("{n + 1}", ["3"]),
        ("{d['k']}", ["v w"]),
        ('{d["k"]}', ["v w"]),
        ("\"{d['k']}\"", ["v w"]),
        ('"{d["k"]}"', ["v w"]),
        ("{ {1: n}[1] }", ["2"]),
        ("{'}' * n}", ["}}"]),
        ("{n:>4}", ["   2"]),
        ("{0.00012:.1e}", ["1.2e-04"]),
        ("{[x for x in range(n)][-1]}", ["1"]),
        ("{(lambda: n)()}", ["2"]),
        ("{[1, 2, 3][0:n]}", ["[1, 2]"]),
        ("$title", ["my run"]),
        ('"$title"', ["my run"]),
        ("{title}", ["my run"]),
    ],
)
def test_placeholders_are_filled_in(line, words):
    assert split(line, n=2, d={"k": "v w"}, title="my run") == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{{n}}", ["{n}"]),
        ("$$n", ["$n"]),
        ("\\$n \\{n\\}", ["$n", "{n}"]),
        ('"\\$n \\{n\\}"', ["$n {n}"]),
        ("'$n {n} ${n}'", ["$n {n} ${n}"]),
        ("$ $1 a$", ["$", "$1", "a$"]),
        ("}", ["}"]),
        ('--env J={{"a":1}}', ["--env", "J={a:1}"]),
    ],
)
def test_escapes_and_single_quotes_keep_the_text(line, words):
    assert split(line, n=2) == words


def test_a_lone_placeholder_that_begins_with_a_dash_is_read_as_options():
    line = "{options} --name '{options}'"
    words = split(line, options="--nproc 2 --role 'a b'")
    assert words == ["--nproc", "2", "--role", "a b", "--name", "{options}"]


def test_a_quoted_placeholder_stays_one_word():
    assert split('"$options"', options="--nproc 2") == ["--nproc 2"]


def test_what_a_placeholder_holds_is_not_filled_in_again():
    assert split("$a", a="{b} $b 'c'") == ["{b} $b 'c'"]


def test_an_empty_lone_placeholder_is_no_word():
    line = "{'--standalone' if x else ''} \"{e}\" --role={e}"
    assert split(line, x=False, e="") == ["", "--role="]


@pytest.mark.parametrize("line", ["{n", "{'}", "${n", "{n:{2}", '"{n"', "{d['a}"])
def test_a_brace_that_is_not_closed_is_named(line):
    with pytest.raises(OptionError, match="a brace is never closed"):
        split(line, n=2)


@pytest.mark.parametrize("line", ["${}", "${a b}", "${a.b}", "${1}"])
def test_only_a_name_goes_between_dollar_braces(line):
    with pytest.raises(OptionError, match="a name goes between braces"):
        split(line)


def test_continuation_lines_are_joined_and_counted():
    cell = "    --max_restarts 1 \\\n  --tee 3 # logs\nx = 1\n"
    line, body, count = join_continuation("--nproc_per_node 2 \\", cell)
    words = ["--nproc_per_node", "2", "--max_restarts", "1", "--tee", "3"]
    assert split(line) == words
    assert (body, count) == ("x = 1\n", 3)


@pytest.mark.parametrize(
    "line",
    ["", "--nproc 2", "--name a\\\\", "--nproc 2 # two \\", "# \\", "--name 'a' # '\\"],
)
def test_a_line_without_a_continuation_is_left_alone(line):
    assert join_continuation(line, "x = 1\\\n2") == (line, "x = 1\\\n2", 1)


def test_a_hash_within_quotes_or_a_word_does_not_end_a_continuation():
    line, body, count = join_continuation("--name '# a' b#c \\", "--tee 3\nx")
    assert split(line) == ["--name", "# a", "b#c", "--tee", "3"]
    assert (body, count) == ("x", 2)


def test_a_continuation_without_a_next_line_ends_the_options():
    assert join_continuation("--nproc 2 \\", "") == ("--nproc 2 ", "", 1)


def test_blanks_and_carriage_returns_after_the_backslash_do_not_matter():
    line, body, count = join_continuation("--nproc 2 \\  ", "--tee 3 \\\r\n--role x\ny")
    assert split(line) == ["--nproc", "2", "--tee", "3", "--role", "x"]
    assert (body, count) == ("y", 3)


def test_an_empty_line_ends_a_continuation():
    assert join_continuation("a \\", "\nx = 1")[1:] == ("x = 1", 2)
