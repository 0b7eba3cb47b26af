"""The Python contract: what `import dualign` gives, how it is used, and that it learns."""

from __future__ import annotations

import copy
import importlib
import inspect
import re
import subprocess
import sys
from dataclasses import fields
from types import ModuleType
from typing import get_type_hints

import numpy as np
import pytest

import dualign
from dualign import Aligner, Alignment, DataError, Options, UsageError
from dualign.aligner import as_text
from dualign.text import Numbered, numbered
from dualign.text.samples import generate, sample

pytestmark = pytest.mark.kernel

SOURCE = ["das Haus ist klein", "das Haus", "das Buch ist gut", "ein Buch", "ein kleines Haus"] * 8
TARGET = ["the house is small", "the house", "the book is good", "a book", "a small house"] * 8
TOKENS = [line.split() for line in SOURCE], [line.split() for line in TARGET]


@pytest.fixture(scope="module")
def aligner() -> Aligner:
    return Aligner(threads=2).fit((SOURCE, TARGET))


def test_align_gives_one_alignment_for_each_pair():
    found = dualign.align(SOURCE, TARGET, threads=2)
    assert len(found) == len(SOURCE)
    assert all(isinstance(alignment, Alignment) for alignment in found)
    assert (1, 1) in found[0].links
    assert str(found[1]) == "0-0 1-1"
    for alignment in found:
        assert len(alignment.probabilities) == len(alignment.links)
        assert all(0.4 < p <= 1 for p in alignment.probabilities)


def test_align_equals_fit_and_align_and_takes_the_same_options():
    options = {"threshold": 0.2, "decoder": "posterior", "rounds": 1}
    aligner = Aligner(threads=1, **options).fit((SOURCE, TARGET))
    assert dualign.align(SOURCE, TARGET, **options) == aligner.align((SOURCE, TARGET))


def test_every_form_of_a_bitext_gives_the_same_answer(aligner):
    expected = aligner.align((SOURCE, TARGET))
    forms = [
        TOKENS,
        list(zip(SOURCE, TARGET, strict=True)),
        list(zip(*TOKENS, strict=True)),
        zip(SOURCE, TOKENS[1], strict=True),
        ((tuple(source), target) for source, target in zip(TOKENS[0], TARGET, strict=True)),
        [[source, target] for source, target in zip(SOURCE, TARGET, strict=True)],
        numbered(zip(*TOKENS, strict=True), lowercase=False),
        numbered(zip(*TOKENS, strict=True), lowercase=True),
    ]
    for form in forms:
        assert aligner.align(form) == expected
    assert aligner.align(SOURCE, TARGET) == aligner.align(tuple(SOURCE), TOKENS[1]) == expected
    assert aligner.decoder_of(SOURCE, TARGET)(aligner.options) == expected
    for one, other in zip(aligner.posteriors(SOURCE, TARGET), aligner.posteriors(forms[0]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert dualign.align(tuple(SOURCE), iter(TARGET), threads=2) == dualign.align(*TOKENS, threads=2)


def test_posteriors_are_matrices_of_probabilities(aligner):
    both = aligner.posteriors((SOURCE, TARGET), directions=True)
    for source, target, mean, sides in zip(*TOKENS, aligner.posteriors((SOURCE, TARGET)), both, strict=True):
        assert mean.dtype == np.float32
        assert mean.shape == (len(source), len(target))
        assert sides.shape == (2, len(source), len(target))
        np.testing.assert_allclose(mean, sides.mean(axis=0), rtol=1e-6)
        assert mean.min() >= 0
        assert sides[0].sum(axis=0).max() <= 1 + 1e-4
        assert sides[1].sum(axis=1).max() <= 1 + 1e-4


def test_a_saved_model_aligns_any_text_in_chunks_of_any_size_alike(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    loaded = Aligner.load(str(tmp_path / "model"), threads=1)
    pairs = list(zip(SOURCE, TARGET, strict=True))
    expected = aligner.align(pairs)
    for size in (1, 3, 40):
        found = [a for k in range(0, len(pairs), size) for a in loaded.align(pairs[k : k + size])]
        assert found == expected
        assert [a.probabilities for a in found] == [a.probabilities for a in expected]


@pytest.mark.parametrize("rounds", [1, 4, 12])
def test_few_short_sentences_are_no_trouble_for_any_number_of_rounds(rounds):
    aligner = Aligner(threads=2, rounds=rounds).fit((SOURCE, TARGET))
    assert np.isfinite(aligner.model.weights).all()
    for probability in aligner.posteriors((SOURCE, TARGET)):
        assert np.isfinite(probability).all()
    assert all(len(alignment) > 0 for alignment in aligner.align((SOURCE, TARGET)))


def test_fit_reports_its_rounds():
    heard = []
    Aligner(threads=2, ibm1_rounds=3, rounds=2).fit((SOURCE, TARGET), report=heard.append)
    assert [(p.stage, p.number, p.rounds) for p in heard] == [
        ("IBM 1", 1, 3),
        ("IBM 1", 2, 3),
        ("IBM 1", 3, 3),
        ("HMM", 1, 2),
        ("HMM", 2, 2),
    ]
    assert all(p.pairs == len(SOURCE) and p.likelihood < 0 < p.bits for p in heard)


def test_training_stops_when_its_judge_sees_no_progress():
    judged: list[dualign.Options] = []
    values = iter([1.0, 2.0, 2.0, 9.0])

    def judge(model) -> float:
        judged.append(model)
        return next(values)

    aligner = Aligner(threads=2, rounds=6, constraint="agreement").fit((SOURCE, TARGET), judge=judge)
    assert len(judged) == 3
    assert aligner.model is judged[1]


@pytest.mark.parametrize(("last", "kept"), [(3.0, 2), (1.5, 0)])
def test_a_projection_gets_its_turn_before_training_stops(last, kept):
    judged: list[dualign.Options] = []
    values = iter([2.0, 1.0, last])

    def judge(model) -> float:
        judged.append(model)
        return next(values)

    aligner = Aligner(threads=2, rounds=4, constraint="symmetric").fit((SOURCE, TARGET), judge=judge)
    assert [progress.number for progress in aligner.history[-3:]] == [1, 2, 4]
    assert aligner.history[-1].evaluations > 1
    assert aligner.model is judged[kept]


def test_case_matters_only_if_asked_to():
    pairs = [("Essen", "food"), ("essen", "eat")] * 20
    text = [("Essen", "food eat"), ("essen", "food eat")]
    alike, different = (Aligner(threads=1, lowercase=x).fit(pairs) for x in (True, False))
    assert len(alike.model.source) == 1
    assert len(different.model.source) == 2
    noun, verb = alike.posteriors(text)
    np.testing.assert_array_equal(noun, verb)
    noun, verb = different.posteriors(text)
    assert noun[0, 0] > 0.5 > noun[0, 1]
    assert verb[0, 1] > 0.5 > verb[0, 0]


def test_tokens_may_be_in_arrays(aligner):
    sources, targets = [["das", "Haus"], ["ein"]], [["the", "house"], ["a"]]
    arrays = [np.array(each) for each in sources], [np.array(each, object) for each in targets]
    assert aligner.align(*arrays) == aligner.align(sources, targets)
    (of_strings,) = aligner.align(*(np.array([" ".join(side[0])]) for side in (sources, targets)))
    assert of_strings == aligner.align(sources, targets)[0]
    found = dualign.align(*arrays, threads=1)
    assert found == dualign.align(sources, targets, threads=1)
    assert {type(word) for each in found for side in each.words for word in side} == {str}


@pytest.mark.parametrize("method", ["align", "posteriors"])
def test_an_aligner_without_a_model_says_what_to_do(method):
    with pytest.raises(UsageError, match=r"no model yet; call fit\(bitext\), or Aligner.load\(path\)"):
        getattr(Aligner(), method)([("a", "b")])
    with pytest.raises(UsageError, match="no model yet"):
        Aligner().save("nowhere")


@pytest.mark.parametrize(
    ("bitext", "message"),
    [
        ((["a", "b"], ["x"]), "source has 2 sentences but target has 1;"),
        ("one string", "not one string"),
        ([("a", "x", "y")], "item 0 of the bitext is not a pair"),
        ([("a", "x"), "by"], "item 1 of the bitext is not a pair"),
        ([("a", "x"), 7], "item 1 of the bitext is not a pair"),
        ([(["a", 3], "x")], "source sentence 0 has a token that is not a word: 3"),
        ([("a", ["x", None])], "target sentence 0 has a token that is not a word: None"),
        ([("a", "x"), (b"bytes", "y")], "source sentence 1 has a token that is not a word"),
        ([("a", ["line\nfeed"])], "target sentence 0 has a token that is not a word"),
        ([(5, "x")], "source sentence 0 is neither a string nor a list of tokens: 5"),
        ([({"a": 0}, "x")], "source sentence 0 is neither a string nor a list of tokens"),
        ([(np.array("a"), "x")], "source sentence 0 is neither a string nor a list of tokens"),
        ([(np.array([1]), "x")], "source sentence 0 has a token that is not a word"),
        ([("", "x"), ("a", "")], "none of the 2 sentence pairs has words on both sides"),
        ([], "none of the 0 sentence pairs has words on both sides"),
    ],
)
def test_bad_bitexts_are_refused_with_their_place(bitext, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Aligner(threads=1).fit(bitext)


def test_a_text_without_anything_to_learn_from_has_no_links(caplog):
    assert dualign.align([], []) == []
    assert dualign.align([""], [""]) == [Alignment()]
    found = dualign.align([("a b", ""), ("", "x")])
    assert [(each.links, each.words) for each in found] == [((), (["a", "b"], [])), ((), ([], ["x"]))]
    assert "none of the 2 sentence pairs has words on both sides, so there are no links" in caplog.text


def test_two_lists_in_a_tuple_are_columns_and_in_a_list_they_are_pairs(aligner):
    sources, targets = ["das Haus", "ein Buch"], ["the house", "a book"]
    assert aligner.align((sources, targets)) == aligner.align(sources, targets)
    assert aligner.align((sources, targets)) == aligner.align(list(zip(sources, targets, strict=True)))
    pairs = [("das Haus", "ein Buch"), ("the house", "a book")]
    assert aligner.align([sources, targets]) == aligner.align(pairs)
    with pytest.raises(dualign.UsageError, match="two pairs or two sides"):
        aligner.align((tuple(sources), tuple(targets)))


@pytest.mark.parametrize("method", ["fit", "align", "posteriors", "decoder_of"])
def test_what_is_not_a_text_is_refused(aligner, method):
    call = getattr(copy.copy(aligner), method)
    for text in ((5,), (None,), (SOURCE, 5), (5, TARGET), (SOURCE, "one string")):
        with pytest.raises(DataError, match=r"not (5|None)|is (5|one string); give a list"):
            call(*text)
    both = numbered(zip(*TOKENS, strict=True), lowercase=False)
    assert isinstance(both, Numbered)
    for text in ((both, TARGET), (SOURCE, both)):
        with pytest.raises(UsageError, match="has both sides; give it as the only argument"):
            call(*text)
        with pytest.raises(UsageError, match="has both sides"):
            dualign.align(*text)


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="source has 2 sentences but target has 3;"):
        dualign.align(["a", "b"], ["x", "y", "z"])


def test_a_string_in_place_of_a_list_of_sentences_is_refused():
    with pytest.raises(DataError):
        dualign.align("das Haus", "der Hund", threads=1)


def test_bad_options_are_refused_at_once():
    for options in ({"threshold": 3}, {"nonsense": 1}, *({"threads": n} for n in (0, "2", 2.5, True))):
        with pytest.raises(UsageError, match=next(iter(options))):
            Aligner(**options)
    assert Aligner(threads=np.int64(3)).threads == 3


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_text_that_is_numbered_once_is_learnt_and_aligned_like_its_pairs(lowercase):
    # The last pair is too long to learn from, so its other words are unknown.
    pairs = [
        *zip(*TOKENS, strict=True),
        (["das", "Haus", "der", "Sonne", "am", "Meer"], ["the", "house", "of", "Sun"]),
    ]
    expected = Aligner(threads=1, lowercase=lowercase, max_length=5).fit(pairs)
    for text in (numbered(pairs, lowercase=False), numbered(pairs, lowercase)):
        aligner = Aligner(threads=1, lowercase=lowercase, max_length=5).fit(text)
        assert aligner.model.source.words == expected.model.source.words
        assert "Sonne".lower() not in map(str.lower, aligner.model.source.words)
        np.testing.assert_array_equal(aligner.model.lexicon.table, expected.model.lexicon.table)
        found = aligner.align(text)
        assert found == expected.align(pairs)
        assert [each.probabilities for each in found] == [
            each.probabilities for each in expected.align(pairs)
        ]


@pytest.mark.parametrize(("function", "sides"), [(Aligner, []), (dualign.align, ["source", "target"])])
def test_signatures_have_every_option_with_its_default_and_type(function, sides):
    parameters = dict(inspect.signature(function).parameters)
    assert list(parameters) == [
        *sides,
        "threads",
        "device",
        "device_memory",
        *(f.name for f in fields(Options)),
    ]
    assert (parameters["threads"].default, parameters["threads"].annotation) == (None, int | None)
    types = get_type_hints(Options)
    for f in fields(Options):
        assert parameters[f.name].default == f.default
        assert parameters[f.name].annotation is types[f.name]
        assert parameters[f.name].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_docstring_describes_every_option():
    for f in fields(Options):
        assert f"`{f.name}`" in Aligner.__doc__
        assert f.metadata["help"] in Aligner.__doc__


def test_an_aligner_says_what_it_is(aligner):
    assert repr(Aligner(rounds=7, decoder="viterbi")) == "<Aligner(rounds=7, decoder='viterbi'): not fitted>"
    assert repr(aligner) == "<Aligner(threads=2): fitted>"
    assert repr(Aligner()) == "<Aligner(): not fitted>"


@pytest.mark.parametrize("threads", [None, 1])
def test_parameters_make_another_aligner_like_this_one(threads):
    aligner = Aligner(threads=threads, rounds=2, threshold=0.3)
    device = {"device": "cpu", "device_memory": None}
    assert aligner.get_params() == {"threads": threads, **device, **aligner.options.as_dict()}
    assert aligner.threads >= 1
    # What sklearn.base.clone does: copies of the values are handed on, and must come back as they are.
    given = {name: copy.deepcopy(value) for name, value in aligner.get_params(deep=False).items()}
    clone = type(aligner)(**given)
    found = clone.get_params(deep=False)
    assert found.keys() == given.keys() == inspect.signature(Aligner).parameters.keys()
    assert all(value is given[name] for name, value in found.items())
    assert clone.set_params(threads=2, rounds=5) is clone
    assert (clone.threads, clone.options.rounds, aligner.options.rounds) == (2, 5, 2)
    assert clone.set_params(threads=None).get_params()["threads"] is None


@pytest.mark.parametrize(
    "changes", [{"threads": 1, "nonsense": 1}, {"rounds": 5, "threads": 0}, {"threads": 1, "threshold": 3}]
)
def test_parameters_change_all_or_not_at_all(changes):
    aligner = Aligner(threads=2)
    before = aligner.get_params()
    with pytest.raises(UsageError):
        aligner.set_params(**changes)
    assert aligner.get_params() == before


def test_parameters_of_training_count_at_the_next_fit(tmp_path):
    aligner = Aligner(threads=1, rounds=1).fit(SOURCE, TARGET)
    with pytest.raises(UsageError, match=r"rounds=2: for training, but there is a model already"):
        aligner.set_options(rounds=2)
    aligner.set_params(rounds=2, lowercase=False, threshold=0.9)
    # The model remembers how it was trained; what concerns aligning counts at once.
    expected = Aligner(threads=1, rounds=1, threshold=0.9).fit(SOURCE, TARGET)
    assert aligner.model.options == expected.options
    assert aligner.model is aligner.model
    assert aligner.align(SOURCE, TARGET) == expected.align(SOURCE, TARGET)
    aligner.save(tmp_path / "model")
    assert Aligner.load(tmp_path / "model").options == expected.options
    assert aligner.fit(SOURCE, TARGET).model.options == aligner.options
    assert [progress.stage for progress in aligner.history].count("HMM") == 2


def test_parameters_that_the_trained_model_cannot_have_wait_for_the_next_fit():
    aligner = (
        Aligner(threads=1).fit(SOURCE, TARGET).set_params(model="ibm1", decoder="matching", scores="forward")
    )
    with pytest.raises(UsageError, match="trained with other options, fit it again"):
        aligner.align(SOURCE, TARGET)
    assert aligner.fit(SOURCE, TARGET).align(SOURCE, TARGET)


ROOMS = [name for name in dualign.__all__ if isinstance(getattr(dualign, name), ModuleType)]


def test_the_rooms_are_listed():
    assert {"decode", "jobs", "measure", "phrase", "transfer", "translate"} <= set(ROOMS)


@pytest.mark.parametrize(
    "room", ["", *(name for name in ROOMS if hasattr(getattr(dualign, name), "__all__"))]
)
def test_every_public_name_exists_and_is_documented(room):
    module = importlib.import_module(f"dualign.{room}".rstrip("."))
    assert dir(module) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__ is not None, f"{module.__name__}.{name}"


def test_the_package_lists_its_names_and_knows_no_others():
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", dualign.__version__)
    with pytest.raises(AttributeError, match="attribute alingn"):
        dualign.alingn  # noqa: B018


@pytest.mark.parametrize(
    "statement", ["import dualign", "import dualign.commands.cli", "import dualign._core.errors"]
)
def test_importing_loads_neither_numpy_nor_numba(statement):
    program = f"{statement}; import sys; print(sorted({{'numpy', 'numba', 'scipy'}} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("verb", ["", "align", "train", "evaluate"])
def test_help_loads_neither_numpy_nor_numba(verb):
    arguments = [verb, "--help"] if verb else ["--help"]
    program = (
        f"from dualign.commands.cli import run; import sys; code = run({arguments!r}); "
        "print(code, sorted({'numpy', 'numba', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_it_learns_synthetic_text():
    pairs = list(generate(2000, seed=5, vocabulary=500))
    gold = [links for _, _, links in pairs]
    found = dualign.align([s for s, _, _ in pairs], [t for _, t, _ in pairs], threads=2)
    learnt = dualign.evaluate(found, gold)
    random = np.random.default_rng(0)
    guessed = [Alignment.of({(i, int(random.integers(len(t)))) for i in range(len(s))}) for s, t, _ in pairs]
    diagonal = [
        Alignment.of({(i, min(i * len(t) // len(s), len(t) - 1)) for i in range(len(s))}) for s, t, _ in pairs
    ]
    assert learnt.aer < 0.13
    assert learnt.precision > 0.8
    assert learnt.recall > 0.7
    for chance in (guessed, diagonal):
        assert learnt.aer < 0.5 * dualign.evaluate(chance, gold).aer


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({}, 0.11),
        ({"constraint": "symmetric"}, 0.11),
        ({"constraint": "none"}, 0.14),
        ({"decoder": "viterbi"}, 0.12),
        ({"model": "ibm2"}, 0.12),
        ({"model": "ibm1"}, 0.25),
    ],
)
def test_it_learns_the_sample(options, bound):
    german, english, gold = sample()
    found = dualign.align(german, english, threads=2, **options)
    assert dualign.evaluate(found[: len(gold)], gold).aer < bound


def test_known_links_of_a_few_pairs_decide_what_the_text_leaves_open():
    pairs = [(["a", "b"], ["x", "y"])] * 20 + [(["c", "d"], ["z", "w"])] * 20
    crossed = Alignment.of([(0, 1), (1, 0)])
    aligner = Aligner(threads=1, rounds=4).fit(pairs, gold=dict.fromkeys(range(1, 10), crossed))
    found = aligner.align(pairs)
    assert found[0].links == found[10].links == crossed.links
    assert found[30].links != crossed.links


def test_known_links_do_not_change_with_the_threads_and_nothing_known_changes_nothing(tmp_path):
    source, target, gold = sample()
    known = {n: gold[n] for n in (3, 17, 44)}
    for threads in (1, 2):
        Aligner(threads=threads, rounds=1).fit((source, target), gold=known).save(tmp_path / f"{threads}")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    Aligner(threads=1, rounds=1).fit((source, target), gold={}).save(tmp_path / "none")
    Aligner(threads=1, rounds=1).fit((source, target)).save(tmp_path / "plain")
    assert (tmp_path / "none").read_bytes() == (tmp_path / "plain").read_bytes()
    assert (tmp_path / "1").read_bytes() != (tmp_path / "plain").read_bytes()


def test_known_links_must_fit_the_text_and_the_model():
    pairs = [(["a"], ["x"])] * 3
    with pytest.raises(DataError, match="gold links of pair 3, but the text has 3 pairs"):
        Aligner().fit(pairs, gold={3: Alignment()})
    with pytest.raises(DataError, match="gold links of pair 1: link 0-1 is outside"):
        Aligner().fit(pairs, gold={1: Alignment.of([(0, 1)])})
    with pytest.raises(UsageError, match="known links are for the HMM"):
        Aligner(model="ibm1").fit(pairs, gold={1: Alignment()})


def test_what_is_skipped_is_skipped_by_all_answers():
    aligner = Aligner(threads=1, rounds=1, skip_tokens="das the .").fit((SOURCE, TARGET))
    pairs = [(["das", "haus", "."], ["the", "house", "."]), (["haus", "das"], ["house", "the"])]
    found = aligner.align(pairs)
    assert aligner.decoder_of(pairs)(aligner.options) == found
    for alignment, matrix in zip(found, aligner.posteriors(pairs), strict=True):
        assert all(matrix[link] > 0 for link in alignment)
        assert matrix.sum() == pytest.approx(matrix[matrix > 0].sum())
    assert not aligner.posteriors(pairs)[0][0].any()
    assert [score.unlinked for score in aligner.score(pairs)] == [
        aligner.score([pair])[0].unlinked for pair in pairs
    ]


def test_a_link_that_is_given_twice_is_one():
    pairs = [(["a", "b"], ["x", "y"])] * 5
    once = Aligner(threads=1).fit(pairs, gold={0: Alignment(((0, 0),))})
    twice = Aligner(threads=1).fit(pairs, gold={0: Alignment(((0, 0), (0, 0)), ((0, 0),))})
    np.testing.assert_array_equal(once.model.weights, twice.model.weights)
    assert np.isfinite(twice.model.weights).all()


def test_a_text_that_repeats_one_pair_of_repeated_words_gets_links():
    pair = "a b c d a e", "u v w x u y"
    [links] = Aligner(threads=1).fit([pair] * 500).align([pair])
    assert {(0, 0), (4, 4), (5, 5)} <= set(links.links)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_text_of_few_pairs_is_not_taken_for_its_sides(number):
    """Two pairs in a tuple were once read as two sides, or the other way round, without a word."""
    pairs = [("a b", "x y"), ("a c", "x z"), ("b", "y")][:number]
    expected = [(source.split(), target.split()) for source, target in pairs]
    sources, targets = map(list, zip(*pairs, strict=True))
    for text in (pairs, iter(pairs), [list(pair) for pair in pairs], (sources, targets)):
        assert as_text(text) == expected
    if number == 2:
        for text in (tuple(pairs), (tuple(sources), tuple(targets))):
            with pytest.raises(dualign.UsageError, match="two pairs or two sides"):
                as_text(text)
    else:
        assert as_text(tuple(pairs)) == expected
