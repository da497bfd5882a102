"""What is personal data or a secret in a text, and what only looks like it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos import SensitiveKind, detect
from memoryos.bench.labels import Split
from memoryos.bench.privacy_cost import measure_detection
from memoryos.privacy.sensitive import STRUCTURED

# None is real. Those in the form of an issuer are put together here, so that no scanner takes them for real ones.
GITLAB = "glpat-" + "kQvTRbnWEyHLmPzXcJdS"  # drawn, and without a digit
STRIPE = "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc"
GITHUB = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
AMAZON = "AK" + "IA" + "IOSFODNN7EXAMPLE"
TOKEN = ".".join(
    ["ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"]
)
PRIVATE = "-----BEGIN " + "PRIVATE KEY-----\nMIIBVgIBADANBgkqhkiG9w0BAQ==\n-----END " + "PRIVATE KEY-----"


def found(text):
    return [(span.kind.value, text[span.start : span.end]) for span in detect(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to Ann.Smith+x@mail.example.org.", [("email", "Ann.Smith+x@mail.example.org")]),
        ("邮箱ann@qq.com，谢谢", [("email", "ann@qq.com")]),
        ("call (415) 555-2671 or +49 30 901820", [("phone", "(415) 555-2671"), ("phone", "+49 30 901820")]),
        ("手机13800138000", [("phone", "13800138000")]),
        ("座机010-62781234", [("phone", "010-62781234")]),
        ("Telefon 030 901820", [("phone", "030 901820")]),
        ("4111 1111 1111 1111", [("card", "4111 1111 1111 1111")]),
        ("3782-822463-10005", [("card", "3782-822463-10005")]),
        ("DE89 3704 0044 0532 0130 00 AND MORE", [("iban", "DE89 3704 0044 0532 0130 00")]),
        ("GB82WEST12345698765432", [("iban", "GB82WEST12345698765432")]),
        ("my iban is de89370400440532013000.", [("iban", "de89370400440532013000")]),
        ("at61 1904 3002 3457 3201 is mine", [("iban", "at61 1904 3002 3457 3201")]),
        ("SSN 536-90-4399", [("us_ssn", "536-90-4399")]),
        ("social security number 536904399", [("us_ssn", "536904399")]),
        ("身份证11010519491231002X", [("cn_id", "11010519491231002X")]),
        ("Steuer-ID 86 095 742 719", [("de_tax_id", "86 095 742 719")]),
        (
            "ping 192.168.1.17, then fe80::1ff:fe23:4567:890a",
            [("ip", "192.168.1.17"), ("ip", "fe80::1ff:fe23:4567:890a")],
        ),
        ("connect to 1.1.1.1:8080 or 1.2.3.4:22", [("ip", "1.1.1.1"), ("ip", "1.2.3.4")]),
        (f"use {GITLAB}, please", [("secret", GITLAB)]),
        ("MAC地址：1d:f8:d4:b6:69:77", [("mac", "1d:f8:d4:b6:69:77")]),
        (f"use {STRIPE}, not {GITHUB}", [("secret", STRIPE), ("secret", GITHUB)]),
        (f"{AMAZON} {TOKEN}", [("secret", AMAZON), ("secret", TOKEN)]),
        (f"key:\n{PRIVATE}\n", [("secret", PRIVATE)]),
        ("my password is hunter2!", [("secret", "hunter2!")]),
        ("DB_PASSWORD=s3cr3t-w0rd", [("secret", "s3cr3t-w0rd")]),
        ("密码：abc12345，别忘了", [("secret", "abc12345")]),
        ("postgresql://app:pa55word@db.example.org/app", [("secret", "pa55word")]),
        ("密码是：abc12345，密码改成了bcd23456。", [("secret", "abc12345"), ("secret", "bcd23456")]),
        ("password is: hunter22! Das Passwort lautet geheim12.", [("secret", "hunter22!"), ("secret", "geheim12")]),
        ("order 123456 4111 1111 1111 1111 123", [("card", "4111 1111 1111 1111")]),
        ("12:30 13800138000/13900139000", [("phone", "13800138000"), ("phone", "13900139000")]),
        ("ｔｅｌ　１３８００１３８０００", [("phone", "１３８００１３８０００")]),
    ],
)
def test_what_is_personal_is_found_at_its_place(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "lodash@4.17.21, logo@2x.png, @ann and git@github.com:ann/repo",
        "order 4111 1111 1111 1112, 112-3456789-1234567",
        "IBAN DE89 3704 0044 0532 0130 01",
        "iban de89370400440532013001, ab12 cdef ghij klmn",
        "000-12-3456, 666-12-3456, 912-34-5678, 123-00-4567",
        "身份证110105194912310021",
        "version 10.0.19.3, 127.0.0.1, 0.0.0.0, 255.255.255.0, 1.3.6.1.4.1.311, 999.1.1.1",
        "Chapter 1.2.3.4: the end, see 1.2.3.4:1, version 1.2.3.4:80",
        "glpat-the_name_of_a_token, glpat-YourTokenComesRightHere, glpat-ThisIsTheNameOfSomeToken",
        "12:30:45:10 and std::vector and a::b and ::1",
        "04-08-15-16-23-42",
        "commit 3b7f2c9a1d5e8f604712ab34cd56ef7890123456, 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "123-4111-1111-1111-1111 and 4111-1111-1111-1111-123, 6222 0213800138000",
        "ISBN 978-3-16-148410-0 on 2024-05-12 at 10:30, 1998-2004",
        "password: ********, token = None, API_KEY=<your-api-key>, secret: ${SECRET}, password = os.environ['X']",
        "The password is required, the token is expired, the secret is patience.",
        "密码是什么？密码不能为空",
        "发票号码2098273149435，QQ群782345619",
    ],
)
def test_what_only_looks_personal_is_left_alone(text):
    assert found(text) == []


HIDDEN = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\ufe0f", "\U000e0041"]
SEEN = {
    "email": "bob.smith@mail.example.org",
    "phone": "+49 30 901820",
    "card": "4111 1111 1111 1111",
    "iban": "DE89 3704 0044 0532 0130 00",
    "us_ssn": "536-90-4399",
    "ip": "192.168.1.17",
    "secret": GITHUB,
}


@pytest.mark.parametrize("invisible", HIDDEN, ids=ascii)
@pytest.mark.parametrize("kind", SEEN)
def test_characters_that_nobody_sees_hide_nothing(kind, invisible):
    told = SEEN[kind]
    hidden = invisible.join(told)
    assert found(f"It is {hidden}, ok.") == [(kind, hidden)]
    assert found(f"{invisible}It is {told}{invisible}, ok.") == [(kind, told)]


ZEROS = {"arabic": "\u0660", "persian": "\u06f0", "devanagari": "\u0966", "full-width": "\uff10", "bold": "\U0001d7ce"}


@pytest.mark.parametrize("zero", ZEROS.values(), ids=ZEROS)
@pytest.mark.parametrize("kind", [one for one in SEEN if one not in ("email", "secret")])
def test_digits_of_each_script_count(kind, zero):
    told = SEEN[kind].translate({ord(str(digit)): chr(ord(zero) + digit) for digit in range(10)})
    assert found(f"It is {told}, ok.") == [(kind, told)]


@pytest.mark.parametrize(
    "told",
    [
        "bob@mail.md",
        "bob@utm.md",
        "anna.b@posta.gov.md",
        "bob@files.zip",
        "bob\uff20mail\uff0eorg",
        "bob@\u200bmail.md",
    ],
)
def test_an_address_may_end_like_a_file(told):
    assert found(f"Write to {told}.") == [("email", told)]


@pytest.mark.parametrize(
    "told", ["logo@2x.png", "notes@v1.2.md", "README@2.md", "lib@latest.zip", "a@3x.md", "x@1.0.zip"]
)
def test_a_file_with_a_version_is_no_address(told):
    assert found(f"See {told} for more.") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u6211\u7684\u624b\u673a13800138000\u2014\u2014\u8c22\u8c22", [("phone", "13800138000")]),
        ("call 415\u2013555\u20132671 now", [("phone", "415\u2013555\u20132671")]),
        ("\u90ae\u7bb1ann@qq.com\u3002Bob\u4e5f\u662f", [("email", "ann@qq.com")]),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u06f1\u06f2 \U0001f468\u200d\U0001f469", []),
    ],
)
def test_signs_of_other_scripts_keep_their_meaning(text, expected):
    assert found(text) == expected


def test_of_two_readings_the_surer_one_counts():
    assert found("身份证11010519491231002X") == [("cn_id", "11010519491231002X")]
    assert found("https://ann:hunter22@mail.example.org/inbox") == [("secret", "hunter22")]


def test_a_mask_or_a_pseudonym_is_nothing_personal_and_no_hiding_place():
    assert found("Mail [email] or ⟨email:oxu454bltxhtsndgtr46gkufd2hxcvkwps7kbnpt56xragie5v2iwggqpyja⟩.") == []
    assert found("⟨card:4111111111111111⟩ [email a.b@mailbox.org]") == [
        ("card", "4111111111111111"),
        ("email", "a.b@mailbox.org"),
    ]


def test_what_was_masked_announces_nothing_that_stands_beside_it():
    assert found("[phone] 901820, 123-45-6789[phone]+49 30 901820") == []


@given(st.text(st.sampled_from("aZ09@.:-+ ()[]⟨⟩/_=\"'密码身份证x\n,"), max_size=200) | st.text(max_size=200))
def test_spans_are_in_order_apart_and_within_the_text(text):
    spans = detect(text)
    edges = [edge for span in spans for edge in (span.start, span.end)]
    assert edges == sorted(edges) and all(0 <= edge <= len(text) for edge in edges)
    assert all(span.start < span.end for span in spans)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "1-",
        "a@",
        "a.a@a.",
        ":",
        "ab:",
        "DE12 ",
        "password: ",
        "+49 ",
        "(415) ",
        "http://a:",
        "密码",
        "⟨email:",
        "-----BEGIN X PRIVATE KEY-----",
    ],
)
def test_the_time_grows_no_faster_than_the_text(piece):
    def seconds(chars):
        text = piece * (chars // len(piece))
        start = time.thread_time()
        detect(text)
        return time.thread_time() - start

    detect(piece)
    assert seconds(80_000) < 20 * max(seconds(10_000), 0.005)


def test_the_time_grows_no_faster_than_the_text_if_several_kinds_take_turns():
    def seconds(pieces):
        text = "a.b@mailbox.org [ip] 10.0.3.7 hunter @ " * pieces
        start = time.thread_time()
        assert len(detect(text)) == 2 * pieces
        return time.thread_time() - start

    assert seconds(20_000) < 14 * max(seconds(4_000), 0.005)


def test_a_span_is_plain_data():
    (span,) = detect("a.b@mailbox.org")
    assert json.loads(span.to_json()) == {"kind": "email", "start": 0, "end": 15}
    assert span.kind is SensitiveKind.EMAIL


def test_the_labelled_set_is_as_large_as_it_is_said_to_be():
    halves = [measure_detection(split) for split in Split]
    assert sum(half.labelled for half in halves) >= 300
    assert sum(half.decoys for half in halves) >= 300
    assert all(half.labelled >= 150 and half.decoys >= 150 for half in halves)
    assert {kind for half in halves for _, kind in half.counts} == set(STRUCTURED)


def test_precision_and_recall_on_the_half_that_no_rule_was_made_for():
    held_out = measure_detection(Split.HELD_OUT)
    assert held_out.overall.precision >= 0.95
    assert held_out.overall.recall >= 0.95
