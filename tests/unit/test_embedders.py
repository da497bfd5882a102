from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.errors import InvalidInput, MissingExtra
from memoryos.models import minilm, static
from memoryos.models.embedder import Embedder, load_embedder
from memoryos.models.hashing import Hashing
from memoryos.models.minilm import MiniLM
from memoryos.models.static import Static
from memoryos.models.static.multilingual import Multilingual
from memoryos.models.word_pieces import word_pieces

NAMES = ["hashing", "minilm", "static", "static-minilm"]
TEXTS = [
    "yes",
    "My sister adopted a cat from the shelter last week.",
    "我昨天和小明去上海吃了火锅，味道很好。",
    "The deploy failed with ImportError: libGL.so.1, so we rolled back. " * 6,
    "Where?",
    "She is allergic to peanuts 🥜 and can't eat satay.",
    "42",
    "A very long story about the garden, the new job and the weather in town. " * 40,
]


@pytest.fixture(params=NAMES)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return load_embedder(request.param)


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=variables | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def closeness(embedder: Embedder, first: str, second: str) -> float:
    a, b = embedder.embed([first, second])
    return float(a @ b)


@pytest.mark.parametrize("count", [0, 1, len(TEXTS)])
def test_there_is_one_float32_row_for_each_text(embedder: Embedder, count: int) -> None:
    vectors = embedder.embed(TEXTS[:count])
    assert vectors.shape == (count, embedder.dim)
    assert vectors.dtype == np.float32


def test_rows_have_unit_length(embedder: Embedder) -> None:
    np.testing.assert_allclose(np.linalg.norm(embedder.embed(TEXTS), axis=1), 1.0, atol=1e-5)


def test_different_texts_have_different_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    similarity = vectors @ vectors.T - np.eye(len(TEXTS))
    assert similarity.max() < 0.95


def test_a_vector_does_not_depend_on_the_other_texts(embedder: Embedder) -> None:
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(embedder.embed(TEXTS), alone, atol=1e-6)
    np.testing.assert_allclose(embedder.embed(TEXTS[::-1]), alone[::-1], atol=1e-6)


def test_order_is_kept_over_many_batches(embedder: Embedder) -> None:
    texts = [f"{'word ' * (number * 7 % 60)}number {number}" for number in range(120)]
    vectors = embedder.embed(texts)
    for index in (0, 1, 59, 60, 119):
        np.testing.assert_allclose(vectors[index], embedder.embed([texts[index]])[0], atol=1e-6)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "...", "😀", "\u200b", "\x00"])
def test_a_text_without_words_has_a_fixed_unit_vector(embedder: Embedder, text: str) -> None:
    (first,), (second,) = embedder.embed([text]), embedder.embed([text])
    assert np.isfinite(first).all()
    assert np.linalg.norm(first) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_array_equal(first, second)


def test_a_huge_text_is_embedded_beside_a_short_one(embedder: Embedder) -> None:
    huge = ("We walked along the river and talked about music. " * 1001)[:50_000]
    vectors = embedder.embed([huge, "music"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(vectors[1], embedder.embed(["music"])[0], atol=1e-6)


@pytest.fixture(scope="module")
def vectors_elsewhere() -> list[dict[str, str]]:
    """The vector of each embedder, from two other processes."""
    code = (
        "import json; from memoryos.models.embedder import load_embedder as load;"
        f"vectors = {{name: load(name).embed(['a cat on the 屋顶']) for name in {NAMES}}};"
        "print(json.dumps({name: vector.tobytes().hex() for name, vector in vectors.items()}))"
    )
    return [json.loads(python(code, PYTHONHASHSEED=seed).stdout) for seed in ("1", "2")]


def test_same_vectors_in_another_process(
    embedder: Embedder, vectors_elsewhere: list[dict[str, str]], request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["embedder"]
    outputs = [bytes.fromhex(vectors[name]) for vectors in vectors_elsewhere]
    assert outputs[0] == outputs[1]
    np.testing.assert_allclose(
        np.frombuffer(outputs[0], np.float32), embedder.embed(["a cat on the 屋顶"])[0], atol=1e-6
    )


def test_eight_threads_agree(embedder: Embedder) -> None:
    few = TEXTS[:3]
    expected = embedder.embed(few)
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(lambda _: embedder.embed(few), range(8)):
            np.testing.assert_allclose(vectors, expected, atol=1e-6)


@pytest.mark.parametrize(("module", "build"), [(minilm, MiniLM), (static, Static)])
def test_concurrent_first_calls_load_once(
    module: ModuleType, build: Callable[[], Embedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[object] = []
    load = module._load
    monkeypatch.setattr(module, "_load", lambda *dim: loads.append(None) or load(*dim))
    fresh = build()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: fresh.embed(["hello"]), range(8)))
    assert len(loads) == 1
    for vectors in results:
        np.testing.assert_array_equal(vectors, results[0])


@pytest.mark.parametrize(("module", "build", "dim"), [(minilm, MiniLM, 384), (static, Static, 256)])
def test_nothing_is_loaded_for_no_texts(
    module: ModuleType, build: Callable[[], Embedder], dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_load", lambda *_: pytest.fail("loaded the model"))
    assert build().embed([]).shape == (0, dim)


@pytest.mark.parametrize("folder", [minilm, static])
def test_the_notice_names_the_files_that_are_shipped(folder: ModuleType) -> None:
    path = Path(folder.__file__ or "").parent
    named = dict(re.findall(r"\| ([\w.]+), sha256 \| (\w+) \|", (path / "NOTICE.md").read_text("utf-8")))
    shipped = [file for file in path.iterdir() if file.suffix in {".onnx", ".json", ".npz"}]
    assert shipped
    for file in shipped:
        assert hashlib.sha256(file.read_bytes()).hexdigest() == named[file.name]


@pytest.mark.parametrize("name", ["minilm", "static"])
@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("I adopted a kitten.", "She has a new pet cat.", "The train to Leeds was late."),
        ("What is she allergic to?", "Peanuts make Ann sick.", "Ann drives a red car."),
        ("He got a job as a doctor.", "He now works as a physician in a hospital.", "He got a dog as a gift."),
    ],
)
def test_a_model_knows_meaning(name: str, text: str, near: str, far: str) -> None:
    embedder = load_embedder(name)
    assert closeness(embedder, text, near) > closeness(embedder, text, far) + 0.05


def test_minilm_still_computes_the_published_model() -> None:
    # The float32 torch model gives 0.7553 here; a wrong pooling, mask or tokenizer moves it by far more than this.
    similarity = closeness(load_embedder("minilm"), "A man is eating food.", "A man is eating a piece of bread.")
    assert similarity == pytest.approx(0.7553, abs=0.01)


def test_minilm_sees_the_first_256_tokens_only() -> None:
    embedder = load_embedder("minilm")
    head = "apple " * 254  # and two marks, for the start and the end
    np.testing.assert_allclose(*embedder.embed([head, head + "submarine"]), atol=1e-6)
    assert closeness(embedder, head, "apple " * 253 + "submarine") < 0.9999


def test_minilm_is_silent_and_stays_at_home(tmp_path: Path) -> None:
    code = (
        "import os; from memoryos.models.minilm import MiniLM; MiniLM().embed(['hello']);"
        "print(os.environ['ORT_DISABLE_TELEMETRY'])"
    )
    done = python(code, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.stderr == ""
    assert done.stdout.split() == ["1"]
    assert list(tmp_path.iterdir()) == []  # onnxruntime's telemetry would have left a database here


@pytest.mark.parametrize("name", ["minilm", "static"])
def test_asking_for_an_embedder_loads_no_model_code(name: str) -> None:
    code = (
        f"import sys; from memoryos.models.embedder import load_embedder; load_embedder({name!r});"
        "print({'onnxruntime', 'tokenizers'} & set(sys.modules))"
    )
    assert python(code).stdout.strip() == "set()"


def test_minilm_without_its_extra_says_what_to_install_before_a_store_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoryos-engine\[minilm\]'; the embedder static needs none"):
        load_embedder("minilm")


def test_static_runs_no_network() -> None:
    code = (
        "import sys; from memoryos.models.static import Static; Static().embed(['hello']);"
        "print({'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules))"
    )
    done = python(code)
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


@pytest.mark.parametrize("build", [Static, Multilingual])
def test_static_vectors_are_the_same_to_the_last_bit_in_any_batch(build: Callable[[], Embedder]) -> None:
    embedder = build()
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    np.testing.assert_array_equal(embedder.embed(TEXTS * 3), np.concatenate([alone] * 3))


def test_static_embeds_words_by_themselves_to_the_last_bit_as_it_embeds_texts() -> None:
    words = [*list(loaded_table().words._whole), *"猫🦕п", ""]  # more than are added up at once
    one_by_one = [loaded_table().vector(loaded_table().rows(word)) for word in words]
    np.testing.assert_array_equal(Static().embed(words), one_by_one)


def test_english_has_the_vectors_that_it_had() -> None:
    english = [text for text in TEXTS if text.isascii()] + [
        "",
        "...",
        "José is at the café 🥜",
        "kombucha",
        "I'll be there.",
    ]
    np.testing.assert_array_equal(load_embedder("static").embed(english), load_embedder("static-minilm").embed(english))
    assert load_embedder("static").name != load_embedder("static-minilm").name


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("她养了一只猫。", "我的宠物是小狗。", "火车晚点了。"),
        ("我妹妹是医生。", "姐姐在医院上班。", "今天的汤太辣了。"),
        ("猫を飼っています。", "うちのペットは犬です。", "電車が遅れました。"),
        ("أخي طبيب في المستشفى.", "المرضى عند الأطباء.", "تأخر القطار اليوم."),
        ("Wir haben eine Katze.", "Mein Haustier ist ein Hund.", "Der Zug hatte Verspätung."),
        ("Tengo un gato en casa.", "Mi mascota es un perro.", "El tren llegó tarde."),
        ("J'ai un chat à la maison.", "Mon animal est un chien.", "Le train est en retard."),
        ("У меня дома кошка.", "Моё домашнее животное — собака.", "Поезд сегодня опоздал."),
        ("She has a cat at home.", "家里养了一只小猫。", "火车晚点了。"),
        ("The train was late again.", "El tren llegó tarde.", "Mi mascota es un perro."),
    ],
)
def test_static_knows_meaning_in_other_languages(text: str, near: str, far: str) -> None:
    embedder = load_embedder("static")
    assert closeness(embedder, text, near) > closeness(embedder, text, far) + 0.05


def test_another_form_of_a_known_word_is_taken_for_it() -> None:
    embedder = load_embedder("static")
    assert closeness(embedder, "Я вижу сестру.", "Сестра.") > 0.6
    assert closeness(embedder, "مدرسة", "المدرسة") > 0.6


@pytest.mark.parametrize(
    ("text", "english", "other"),
    [
        ("я был у ветеринара", "vet", "snail"),
        ("с зонтиком", "umbrella", "plumber"),
        ("من الصيدلية", "pharmacy", "snail"),
        ("عند الخياط", "tailor", "umbrella"),
    ],
)
def test_words_that_are_rare_in_print_are_read_whole(text: str, english: str, other: str) -> None:
    embedder = load_embedder("static")
    assert closeness(embedder, text, english) > closeness(embedder, text, other) + 0.05


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("الحليب فاسد.", "اللبن لم يعد صالحا للشرب.", "المكتبة مغلقة اليوم."),
        ("متى موعد الطائرة؟", "الرحلة إلى دبي تقلع في المساء.", "زوجتي تحب الورد."),
        ("من يعزف على البيانو؟", "ابنتي موسيقية ماهرة.", "غسلت الأطباق بعد الغداء."),
    ],
)
def test_arabic_is_known_in_other_words(text: str, near: str, far: str) -> None:
    embedder = load_embedder("static")
    assert closeness(embedder, text, near) > closeness(embedder, text, far) + 0.255


def test_other_languages_are_read_only_when_they_are_met() -> None:
    embedder = Multilingual()
    embedder.embed(["My sister adopted a cat.", "José"])
    assert embedder._pieces is None
    embedder.embed(["我姐姐"])
    assert embedder._pieces is not None


@cache
def loaded_table() -> static._Table:
    return static._load(Static.dim)


PARTS = st.sampled_from(
    [*(piece for piece in sorted(word_pieces().vocabulary) if piece.isascii()), *map(chr, range(128))]
)


@given(word=st.lists(PARTS, min_size=1, max_size=4).map("".join), is_shouted=st.booleans())
def test_static_cuts_a_word_as_the_tokenizer_does(word: str, is_shouted: bool) -> None:
    word = word.upper() if is_shouted else word
    words = loaded_table().words
    assert words._of_parts(word) in ((), words._cut(word))


def test_static_need_not_ask_the_tokenizer_about_common_words() -> None:
    assert all(loaded_table().words._of_parts(word) for word in ["Weekend,", "(yes)", "don't", "1999."])


def test_static_sees_the_whole_text() -> None:
    text = "word " * 10_000
    assert closeness(Static(), text, text + "needle " * 10_000) < 0.9


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("我喜欢吃火锅", "昨天吃了火锅", "她的生日是三月五日"),
        ("party 🥜", "🥜", "🎂"),
        ("한국어", "한국어", "日本語"),
        ("Café", "CAFÉ!", "cave"),
        ("x" * 300, "x" * 300 + " yes", "x" * 299),
    ],
)
def test_static_matches_what_it_has_no_vector_for_by_itself(text: str, near: str, far: str) -> None:
    assert closeness(Static(), text, near) > closeness(Static(), text, far) + 0.2


def test_static_keeps_unknown_characters_apart() -> None:
    vectors = Static().embed(list("昨吃锅豆琴蝶🥜🎂😀"))
    assert np.triu(vectors @ vectors.T, 1).max() < 0.3


def test_static_weighs_rare_words_more_than_common_ones() -> None:
    assert closeness(Static(), "the cello", "cello") > closeness(Static(), "the cello", "the") + 0.5


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("a red bicycle", "two red bicycles", "the stock market"),
        ("我喜欢吃火锅", "昨天吃了火锅", "她的生日是三月五日"),
        ("Café", "CAFÉ!", "cave"),
    ],
)
def test_hashing_knows_spelling(text: str, near: str, far: str) -> None:
    assert closeness(Hashing(), text, near) > closeness(Hashing(), text, far) + 0.2


def test_hashing_sees_the_whole_text() -> None:
    text = "word " * 5_000
    assert closeness(Hashing(), text, text + "needle") < 0.9999


@pytest.mark.parametrize("name", ["hashing", "static"])
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_has_a_unit_row(name: str, text: str) -> None:
    (vector,) = load_embedder(name).embed([text])
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_embedders_have_their_own_names() -> None:
    assert len({load_embedder(name).name for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("name", ["", "MiniLM", "openai"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_embedder(name)
    assert caught.value.field == "embedder"
    assert all(known in str(caught.value) for known in NAMES)
