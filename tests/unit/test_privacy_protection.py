"""What a policy makes of values, and how pseudonyms are made and opened."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memoryos
from memoryos import Attachment, Scope, Turn, load_settings
from memoryos.about import About
from memoryos.cube import Activation, Blob
from memoryos.errors import InvalidInput, MissingExtra, PrivacyRefused
from memoryos.privacy import json_text
from memoryos.privacy.protection import Protection
from memoryos.privacy.pseudonyms import Pseudonyms
from memoryos.privacy.sensitive import PSEUDONYM, PrivacyAction, SensitiveKind

ANN = Scope(user="ann")
KEY = "a key of thirty-two characters or more"
EVERY = frozenset(SensitiveKind)


def policy(action, kinds=EVERY):
    return Protection.of(PrivacyAction(action), kinds, KEY if action == "pseudonym" else None).for_owner(ANN)


def test_a_policy_that_is_off_gives_the_same_objects_back():
    turn, off = Turn(role="user", text="a.b@mailbox.org"), policy("off")
    assert off.value("turn", turn) is turn
    assert off.tags(turn) == ()
    assert off.question("a.b@mailbox.org") == "a.b@mailbox.org"


def test_every_text_of_a_value_is_masked_and_bytes_are_not():
    turn = Turn(
        role="user",
        text="a.b@mailbox.org",
        speaker="c.d@mailbox.org",
        attachments=(Attachment(caption="of 10.0.3.7", uri="data:text/plain;base64,YS5iQG1haWxib3gub3Jn"),),
    )
    masked = policy("mask").value("turn", turn)
    assert (masked.text, masked.speaker) == ("[email]", "[email]")
    assert masked.attachments == (replace(turn.attachments[0], caption="of [ip]"),)


def test_a_text_that_begins_like_the_uri_of_bytes_is_masked_all_the_same():
    turn = Turn(role="user", text="data: a.b@mailbox.org")
    assert policy("mask").value("turn", turn).text == "data: [email]"


def test_numbers_of_persons_are_found_with_a_sign_and_a_point():
    told = About(metadata='{"a":-4111111111111111,"b":4111111111111111.0,"c":[-7.5,2.0,3]}')
    assert policy("mask").value("", told).metadata == '{"a":"[card]","b":"[card]","c":[-7.5,2.0,3]}'


@pytest.mark.parametrize("uri", ["blob:x password: a.b@mailbox.org", "blob:a.b@mailbox.org/3"])
def test_a_uri_that_names_no_bytes_is_searched(uri):
    assert "mailbox" not in policy("mask").value("", Attachment(caption="", uri=uri)).uri


def test_metadata_stays_json():
    told = About(metadata='{"a.b@mailbox.org":[4111111111111111,true,7,null,"10.0.3.7"]}')
    assert policy("mask").value("", told).metadata == '{"[email]":["[card]",true,7,null,"[ip]"]}'


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"n": 4111111111111111, "s": "a.b@mailbox.org, ok"}', '{"n": "[card]", "s": "[email], ok"}'),
        ('{"密码": 15, "b": []}', '{"密码": "[secret]", "b": []}'),  # the detector takes ': 15, "'
        ('["\\u4e2d 10.0.3.7\\n", 7]', '["\\u4e2d [ip]\\n", 7]'),
        ('{"a": 4111111111111111', '{"a": [card]'),  # no JSON
        ("4111111111111111", "[card]"),
    ],
)
def test_a_text_that_is_json_stays_json(text, masked):
    protection = policy("mask")
    assert protection.masked(text) == masked == protection.masked(masked)
    assert json_text.with_replaced(text, protection.replaced(text)) == masked


_SCALARS = st.sampled_from(
    [4111111111111111, -15, 4567, 0.5, 1e30, True, None, "a.b@mailbox.org", "hunter2", '10.0.3.7\n"']
)
_NAMES = st.sampled_from(["密码", "pin", "password", "card", "k", "a.b@mailbox.org"])


@given(
    st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(_NAMES, inner), max_leaves=8), st.booleans()
)
def test_every_json_that_is_masked_is_read(value, is_ascii):
    text = json.dumps([value], ensure_ascii=is_ascii)
    for action in ("mask", "pseudonym"):
        masked = policy(action).masked(text)
        json.loads(masked)
        assert not [word for word in ("4111111111111111", "mailbox") if word in masked]


def test_keys_that_become_the_same_lose_no_value():
    told = About(metadata='{"[email] 2":0,"a.b@mailbox.org":1,"c.d@mailbox.org":2}')
    masked = json.loads(policy("mask").value("", told).metadata)
    assert sorted(masked.values()) == [0, 1, 2]
    assert set(masked) == {"[email]", "[email] 2", "[email] 3"}


def test_numbers_of_the_library_are_no_numbers_of_a_person():
    blob = Blob(sha256="0" * 64, size_bytes=13800138000, format="bin")
    assert policy("mask").value("", blob) is blob


def test_a_refusal_names_the_place_and_the_kinds_and_not_the_words():
    turn = Turn(role="user", text="x", speaker="a.b@mailbox.org or 10.0.3.7")
    with pytest.raises(PrivacyRefused) as refused:
        policy("refuse").value("turns[2]", turn)
    error = pickle.loads(pickle.dumps(refused.value))
    assert (error.field, error.kinds) == ("turns[2].speaker", ("email", "ip"))
    assert str(error) == str(refused.value)
    assert "mailbox" not in str(error)


def test_a_question_is_masked_where_its_words_could_not_be_stored():
    assert [policy(action).question("a.b@mailbox.org") for action in ("tag", "mask", "refuse")] == [
        "a.b@mailbox.org",
        "[email]",
        "[email]",
    ]
    assert PSEUDONYM.fullmatch(policy("pseudonym").question("a.b@mailbox.org"))


PIECES = ["a.b@mailbox.org", "+49 30 901820", "901820", "10.0.3.7", "hunter22!", "4111 1111 1111 1111", "[phone]"]
PIECES += [
    "123-45-6789",
    "call ",
    "密码",
    "token: ",
    "是",
    "(415) 555-2671",
    "13800138000",
    "，",
    " ",
    "\n",
    "-",
    "[ip]",
    "x",
]


@given(
    st.text(st.sampled_from("a@b.c0123456789 :-⟨⟩[]密码"), max_size=80)
    | st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
)
def test_what_was_masked_once_stays_so(text):
    for action in ("mask", "pseudonym"):
        once = policy(action).text("text", text)
        assert policy(action).text("text", once) == once


@given(st.text(min_size=1, max_size=300))
def test_a_pseudonym_says_the_same_again_and_opens_to_the_same_text(text):
    pseudonyms = Pseudonyms.of(KEY)
    hidden = pseudonyms.hidden(SensitiveKind.SECRET, text, ANN)
    assert PSEUDONYM.fullmatch(hidden)
    assert hidden == pseudonyms.hidden(SensitiveKind.SECRET, text, ANN)
    assert pseudonyms.revealed(f"so {hidden} it is", ANN) == f"so {text} it is"


@pytest.mark.parametrize("other", [Scope(user="bob"), Scope(user="ann", tenant="other")])
def test_a_pseudonym_belongs_to_a_user_of_a_tenant(other):
    pseudonyms = Pseudonyms.of(KEY)
    hidden = pseudonyms.hidden(SensitiveKind.EMAIL, "a.b@mailbox.org", ANN)
    assert hidden != pseudonyms.hidden(SensitiveKind.EMAIL, "a.b@mailbox.org", other)
    with pytest.raises(InvalidInput, match="privacy_key: does not open"):
        pseudonyms.revealed(hidden, other)
    both = f"{hidden} {pseudonyms.hidden(SensitiveKind.IP, '10.0.3.7', other)}"
    assert pseudonyms.revealed(both, other) == f"{hidden} 10.0.3.7"


def test_a_pseudonym_of_one_kind_is_not_passed_off_as_another():
    hidden = Pseudonyms.of(KEY).hidden(SensitiveKind.EMAIL, "a.b@mailbox.org", ANN)
    with pytest.raises(InvalidInput):
        Pseudonyms.of(KEY).revealed(hidden.replace("email", "phone"), ANN)


@pytest.mark.parametrize("key", [None, "short"])
def test_a_store_with_pseudonyms_needs_a_long_key(tmp_path, key):
    settings = load_settings(privacy_on_write="pseudonym", privacy_key=key)
    with pytest.raises(InvalidInput, match="privacy_key"):
        memoryos.open(tmp_path / "a.db", user="ann", settings=settings)


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.kdf.hkdf", None)
    with pytest.raises(MissingExtra, match=r"memoryos-engine\[privacy\]"):
        Pseudonyms.of(KEY)


def test_the_key_is_in_no_text_of_an_object(tmp_path):
    settings = load_settings(privacy_on_write="pseudonym", privacy_key=KEY)
    pseudonyms = Pseudonyms.of(KEY)
    assert KEY not in repr(settings) + str(settings.model_dump()) + repr(pseudonyms) + repr(
        Protection(pseudonyms=pseudonyms)
    )
    assert pseudonyms._key.hex() not in repr(pseudonyms) and repr(pseudonyms._key) not in repr(pseudonyms)


def test_only_the_words_of_a_kv_state_are_masked():
    card = "4111 1111 1111 1111"
    blob = Blob(sha256="0" * 64, size_bytes=1, format="memoryos-kv")
    state = Activation(model=card, fingerprint=card, versions=((card, 1),), text=f"card {card}", tokens=1, blob=blob)
    assert policy("mask").value("", state) == replace(state, text="card [card]")
