from __future__ import annotations

import random

import pytest

from nbtune.errors import OptionError
from nbtune.options import HelpRequested
from nbtune.options.given import Level
from nbtune.options.own import OWN
from nbtune.options.parser import Grammar
from nbtune.options.table import Table, TableOption


@pytest.fixture
def grammar(table):
    return Grammar(table)


@pytest.fixture
def found(grammar):
    def read(*words):
        given = grammar.read(list(words), Level.LINE)
        return {dest: option.values for dest, option in given.items()}

    return read


@pytest.mark.parametrize(
    "words",
    [
        ["--nproc-per-node", "2"],
        ["--nproc_per_node", "2"],
        ["--nproc-per-node=2"],
        ["--nproc_per_node=2"],
        ["--nproc_per-node=2"],
        ["--nproc", "2"],
        ["--np=2"],
        ["--nproc", "3", "--nproc_per_node", "2"],
    ],
)
def test_every_spelling_of_an_option_is_the_same(found, words):
    assert found(*words) == {"nproc_per_node": ("2",)}


def test_every_option_of_torchrun_is_taken_in_every_spelling(found, table):
    for option in table.options:
        value = [] if option.nargs == 0 else ["v"]
        for flag in option.flags:
            assert found(flag, *value) == {option.dest: tuple(value)}


def test_short_options_take_their_value_with_or_without_a_blank(found):
    wanted = {"tee": ("3",), "redirects": ("0:1",)}
    assert found("-t3", "-r", "0:1") == wanted


def test_a_negative_number_is_a_value(found):
    assert found("--max-restarts", "-1") == {"max_restarts": ("-1",)}


def test_repeated_options_of_ours_are_collected(found):
    words = ["--out", "a", "--env", "A=1", "--out=b", "--env=B=2"]
    assert found(*words) == {"out": ("a", "b"), "env": ("A=1", "B=2")}


def test_our_options_share_no_name_with_torchruns(table):
    theirs = {flag.replace("_", "-") for o in table.options for flag in o.flags}
    assert theirs.isdisjoint(flag for option in OWN for flag in option.flags)
    assert {o.dest for o in table.options}.isdisjoint(o.dest for o in OWN)


def test_an_option_that_a_later_torch_has_too_is_torchs():
    later = Table(
        version="9", options=(TableOption(flags=("--name",), dest="name", kind="env"),)
    )
    grammar = Grammar(later)
    assert grammar.from_environment({"PET_NAME": "x"})["name"].value == "x"
    assert grammar.read(["--name", "y"], Level.LINE)["name"].value == "y"


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("--nproc_per_nod3", "--nproc-per-node"),
        ("--max-restartz=1", "--max-restarts"),
        ("--restarts", "--max-restarts"),
        ("--port", "--master-port"),
        ("--NPROC_PER_NODE", "--nproc-per-node"),
        ("--dryrun", "--dry-run"),
        ("--outs", "--out"),
        ("-nproc_per_node", "--nproc-per-node"),
    ],
)
def test_an_unknown_option_is_refused_with_near_matches(grammar, word, near):
    with pytest.raises(OptionError, match=f"there is no option .*{near}"):
        grammar.read([word, "1"], Level.LINE)


def test_an_option_like_no_other_points_to_the_help(grammar):
    with pytest.raises(OptionError, match="there is no option --bogus: -h lists all"):
        grammar.read(["--bogus", "1"], Level.LINE)


def test_an_abbreviation_of_several_options_names_them(grammar):
    with pytest.raises(OptionError, match="--master-addr and --master-port"):
        grammar.read(["--master", "1"], Level.LINE)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tee"], "--tee needs a value"),
        (["--tee", "--name", "x"], "--tee needs a value"),
        (["--name", "-x"], "--name=VALUE if it begins with a dash"),
        (["-r"], "--redirects needs a value"),
        (["--standalone=1"], "--standalone takes no value"),
        (["--dry-run=yes"], "--dry-run takes no value"),
        (["--dry-run", "yes"], "unexpected 'yes'"),
        (["train.py", "--lr", "1"], "there is no option --lr"),
        (["train.py"], "unexpected 'train.py': a cell has no script"),
        (["--nproc", "2", "--"], "unexpected '--'"),
        (["--", "train.py"], "unexpected '--'"),
        ([""], "unexpected ''"),
        (["-"], "unexpected '-'"),
        (["—nproc", "2"], "typographic dash"),
        (["-q"], "there is no option -q"),
    ],
)
def test_a_mistake_is_one_line(grammar, words, message):
    with pytest.raises(OptionError) as caught:
        grammar.read(words, Level.LINE)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["--he"], ["--bogus", "-h"]])
def test_help_is_asked_for_without_leaving(grammar, words):
    with pytest.raises(HelpRequested) as caught:
        grammar.read(words, Level.LINE)
    assert caught.value.text == grammar.help()


def test_help_lists_every_option_in_its_group(grammar, table):
    text = grammar.help()
    assert text.startswith("usage: %%torchrun [options]")
    assert "show this help message and exit" not in text
    order = ["nbtune's options:", "torchrun's options:", "not in a cell:"]
    places = [text.index(title) for title in order]
    assert places == sorted(places)
    for option in (*table.options, *OWN):
        assert option.flag in text
    for option in OWN:
        assert places[0] < text.index(f"  {option.flag}") < places[1]
    assert "{spawn,fork,forkserver}" in text
    assert "(default: 1:1)" in text


def test_any_words_give_options_or_one_line_of_error(grammar):
    source = random.Random(2)
    parts = ["--", "-", "nproc", "_", "tee", "=", "r", "t", " ", "1", "out", "", "é"]
    for _ in range(400):
        words = [
            "".join(source.choices(parts, k=source.randrange(5)))
            for _ in range(source.randrange(4))
        ]
        message = ""
        try:
            grammar.read(words, Level.LINE)
        except OptionError as error:
            message = str(error)
        assert "\n" not in message


def test_environment_defaults_are_read_by_torchs_names(grammar):
    environ = {"PET_TEE": "3", "PET_STANDALONE": "1", "PET_MODULE": "0", "PET_X": "1"}
    given = grammar.from_environment(environ)
    assert {dest: option.shown for dest, option in given.items()} == {
        "tee": "PET_TEE=3",
        "standalone": "PET_STANDALONE=1",
    }


def test_an_empty_environment_default_sets_nothing(grammar):
    assert grammar.from_environment({"PET_MASTER_PORT": "", "PET_STANDALONE": ""}) == {}


def test_a_switch_variable_that_is_no_number_is_named(grammar):
    with pytest.raises(OptionError, match="PET_STANDALONE=yes"):
        grammar.from_environment({"PET_STANDALONE": "yes"})
