"""Phrase pairs of links against the definition, and tables against counting by hand."""

from __future__ import annotations

import gc
import math
import random
import subprocess
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import phrase as oracle

from dualign import Alignment, DataError, UsageError
from dualign.phrase import build_table, extract
from dualign.phrase.external_sort import Runs, collapsed, whole_groups
from dualign.text.phrase_table import read_table
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel


@given(
    st.integers(0, 7),
    st.integers(0, 7),
    st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))),
    st.integers(1, 5),
)
def test_extraction_is_the_definition(I, J, links, longest):
    links = {(i, j) for i, j in links if i < I and j < J}
    assert extract(links, I, J, max_length=longest) == sorted(oracle.consistent_pairs(links, I, J, longest))


def test_links_outside_the_pair_are_named():
    with pytest.raises(DataError, match="2-0"):
        extract([(2, 0)], 2, 2)
    for links in ([(0.5, 0)], [("a", 0)], "0-0", [(0,)], 5):
        with pytest.raises(DataError, match="of whole numbers"):
            extract(links, 2, 2)
    with pytest.raises(UsageError, match="max_length"):
        extract([], 2, 2, max_length=17)


def corpus(pairs: int):
    return [((s, t), a) for s, t, a in generate(pairs, seed=4, vocabulary=30, mean_length=6)]


def counted(text, longest):
    """Phrase pairs, their alignments and orientations, counted with dictionaries."""
    counts, alignments, orders = Counter(), {}, {}
    for (source, target), alignment in text:
        I, J = len(source), len(target)
        links = {*alignment.links, (-1, -1), (I, J)}
        for i, j, k, l in oracle.consistent_pairs(set(alignment.links), I, J, longest):
            pair = " ".join(source[i:j]), " ".join(target[k:l])
            inside = tuple(sorted((a - i, b - k) for a, b in alignment.links if i <= a < j and k <= b < l))
            counts[pair] += 1
            alignments.setdefault(pair, Counter())[inside] += 1
            tally = orders.setdefault(pair, [0.5] * 6)
            for at, straight, crossed in ((0, (i - 1, k - 1), (j, k - 1)), (3, (j, l), (i - 1, l))):
                both = straight in links, crossed in links
                tally[at + {(True, False): 0, (False, True): 1}.get(both, 2)] += 1
    return counts, alignments, orders


def lexical(text):
    """p(target | source) and p(source | target) of linked words, null included."""
    counts = Counter()
    for (source, target), alignment in text:
        counts.update((source[i], target[j]) for i, j in alignment.links)
        counts.update((word, "") for i, word in enumerate(source) if i not in {a for a, _ in alignment.links})
        counts.update(("", word) for j, word in enumerate(target) if j not in {b for _, b in alignment.links})
    of_source, of_target = Counter(), Counter()
    for (s, t), count in counts.items():
        of_source[s] += count
        of_target[t] += count
    forward = {(s, t): count / of_source[s] for (s, t), count in counts.items()}
    return forward, {(s, t): count / of_target[t] for (s, t), count in counts.items()}


def weight(words, others, links, probability):
    """Π over words of the mean probability over linked others."""
    product = 1.0
    for b, word in enumerate(words):
        linked = [probability(others[a], word) for a, at in links if at == b]
        product *= sum(linked) / len(linked) if linked else probability("", word)
    return product


def test_table_is_what_counting_by_hand_gives(tmp_path):
    text = corpus(60)
    names = [str(tmp_path / name) for name in ("table", "orders", "lex")]
    built = build_table(text, names[0], max_length=3, reordering=names[1], dictionary=names[2])
    counts, alignments, orders = counted(text, 3)
    assert (built.sentence_pairs, built.phrase_pairs) == (60, len(counts))
    assert built.instances == sum(counts.values())
    of_source, of_target = Counter(), Counter()
    for (s, t), count in counts.items():
        of_source[s] += count
        of_target[t] += count
    forward, backward = lexical(text)
    seen = set()
    for line in (tmp_path / "table").read_text().splitlines():
        source, target, scores, links, numbers, *rest = line.split(" ||| ")
        pair = source, target
        seen.add(pair)
        assert rest == ["|||"]
        c = counts[pair]
        assert numbers == f"{of_target[target]} {of_source[source]} {c}"
        inside = tuple(tuple(map(int, link.split("-"))) for link in links.split())
        assert alignments[pair][inside] == max(alignments[pair].values())
        s, t = source.split(), target.split()
        expected = [
            c / of_target[target],
            weight(s, t, [(b, a) for a, b in inside], lambda o, w: backward[w, o]),
            c / of_source[source],
            weight(t, s, inside, lambda o, w: forward[o, w]),
        ]
        assert [float(x) for x in scores.split()] == pytest.approx(expected, rel=5e-6)
    assert seen == set(counts)
    for line in (tmp_path / "orders").read_text().splitlines():
        source, target, scores = line.split(" ||| ")
        tally = orders[source, target]
        expected = [x / sum(tally[:3]) for x in tally]
        assert [float(x) for x in scores.split()] == pytest.approx(expected, rel=5e-6)
    lines = [line.split() for line in (tmp_path / "lex.s2t").read_text().splitlines()]
    words = {(s.replace("NULL", ""), t.replace("NULL", "")): float(p) for t, s, p in lines}
    assert words == pytest.approx(forward, abs=1e-7)
    lines = [line.split() for line in (tmp_path / "lex.t2s").read_text().splitlines()]
    words = {(s.replace("NULL", ""), t.replace("NULL", "")): float(p) for s, t, p in lines}
    assert words == pytest.approx(backward, abs=1e-7)


def test_table_is_sorted_like_sort_does_and_the_same_for_any_thread_count(tmp_path, monkeypatch):
    monkeypatch.setattr("dualign.phrase.phrase_tables._CHUNK", 7)
    monkeypatch.setattr("dualign.phrase.phrase_tables._ROWS", 50)
    monkeypatch.setattr("dualign.phrase.external_sort._FAN_IN", 3)
    monkeypatch.setattr("dualign.phrase.external_sort._BUFFER", 64)
    odd = [((["a|b", "NULL", "été", "a"], ["|||", "z", "a!", "{"]), Alignment.of((n, n) for n in range(4)))]
    for threads in (1, 3):
        build_table(corpus(80) + odd, str(tmp_path / f"{threads}"), threads=threads)
    monkeypatch.undo()
    build_table(corpus(80) + odd, str(tmp_path / "whole.gz"), threads=2)
    text = (tmp_path / "1").read_bytes()
    assert text == (tmp_path / "3").read_bytes()
    import gzip

    assert text == gzip.decompress((tmp_path / "whole.gz").read_bytes())
    subprocess.run(["sort", "-c", str(tmp_path / "1")], env={"LC_ALL": "C"}, check=True)
    assert "a&#124;b NULL ||| &#124;&#124;&#124; z ||| 1 1 1 1 |||" in text.decode()
    assert all(math.isfinite(score) for line in read_table(str(tmp_path / "1")) for score in line.scores)


def test_nothing_to_extract_gives_an_empty_table(tmp_path):
    for text in ([], [((["a"], ["b"]), Alignment())], [(([], []), Alignment())]):
        assert build_table(text, str(tmp_path / "table")).phrase_pairs == 0
        assert (tmp_path / "table").read_text() == ""


def test_failed_extraction_leaves_no_table_and_names_the_pair(tmp_path):
    text = [*corpus(3), ((["a"], ["b"]), Alignment.of([(0, 1)]))]
    with pytest.raises(DataError, match=r"links\.txt, line 4: link 0-1 is outside"):
        build_table(text, str(tmp_path / "table"), place="links.txt, line")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="there is no folder"):
        build_table([], str(tmp_path / "nowhere" / "table"))
    with pytest.raises(DataError, match="nowhere: cannot hold scratch files"):
        build_table([], str(tmp_path / "table"), scratch=str(tmp_path / "nowhere"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("when", ["best_alignments", "format_lines"])
def test_interruption_leaves_old_outputs_and_nothing_else(tmp_path, monkeypatch, when):
    def interrupted(*_):
        raise KeyboardInterrupt

    (tmp_path / "table").write_text("old")
    (tmp_path / "lex.s2t").write_text("old")
    monkeypatch.setattr(f"dualign.phrase.phrase_tables.{when}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build_table(
            corpus(80), str(tmp_path / "table"), dictionary=str(tmp_path / "lex"), scratch=str(tmp_path)
        )
    gc.collect()  # a generator that fails when it is closed would be a warning, and that an error
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"table": "old", "lex.s2t": "old"}


def test_full_disk_names_the_folder_of_scratch_files(tmp_path, monkeypatch):
    def full(**_):
        return open("/dev/full", "wb")

    monkeypatch.setattr("dualign._core.memory.tempfile.TemporaryFile", full)
    with pytest.raises(DataError, match=f"{tmp_path}: cannot hold scratch files: No space left on device"):
        build_table(corpus(80), str(tmp_path / "table"), scratch=str(tmp_path))


@pytest.mark.parametrize("seed", range(5))
def test_external_sort_is_a_sort(tmp_path, monkeypatch, seed):
    monkeypatch.setattr("dualign.phrase.external_sort._FAN_IN", 2)
    monkeypatch.setattr("dualign.phrase.external_sort._BUFFER", 20)
    draw = np.random.Generator(np.random.PCG64(seed))
    rows = draw.integers(0, 6, (400, 4)).astype(np.uint64)
    runs = Runs(str(tmp_path), 4, 3)
    for part in np.array_split(rows, 11):
        runs.add(collapsed(part, 3))
    chunks = list(runs.merged())
    totals = Counter()
    for *key, count in rows.tolist():
        totals[tuple(key)] += count
    expected = [[*key, totals[key]] for key in sorted(totals)]
    assert np.concatenate(chunks).tolist() == expected
    assert list(tmp_path.iterdir()) == []
    groups = list(whole_groups(chunks, 1))
    assert np.concatenate(groups).tolist() == expected
    firsts = [key for group in groups for key in set(group[:, 0].tolist())]
    assert len(firsts) == len(set(firsts))


def test_probabilities_have_six_digits(tmp_path):
    # Relative frequencies 1/n of one target phrase, down to five decimals and less.
    draw = random.Random(1)
    text = [((["s"], [f"t{draw.randint(0, 300)}"]), Alignment.of([(0, 0)])) for _ in range(30000)]
    build_table(text, str(tmp_path / "table"))
    counts = Counter(target[0] for (_, target), _ in text)
    for line in (tmp_path / "table").read_text().splitlines():
        _, target, scores, _, _ = line.split(" ||| ")[:5]
        assert scores.split()[2] == f"{counts[target] / 30000:.6g}"
