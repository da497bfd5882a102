"""Detector: finds personal data and secrets in a text. One table: kind, pattern, check.

A pattern finds candidates in linear time, and a check (checksum, range, numbering plan) decides. Where two candidates
overlap, the one that stands first in the table counts. Digits and signs of any script count as those of ASCII, and
invisible characters do not count (`plain_text`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from memoryos.errors import InvalidInput
from memoryos.privacy import checks
from memoryos.privacy.credentials import secret_spans
from memoryos.privacy.names import NameFinder
from memoryos.privacy.phones import phone_spans
from memoryos.privacy.plain_text import as_plain
from memoryos.privacy.sensitive import PSEUDONYM, SensitiveKind, SensitiveSpan
from memoryos.regex import regex

_Spans = Callable[[str], Iterable[tuple[int, int]]]

# A number that is no part of a longer one. The condition stands behind the first digit, because the search for a digit
# is fast, and the search for a place that is preceded by something is not.
_D, _1, _2 = (rf"{one}(?<![\w-]{one})(?<!\d[.:/]{one})" for one in (r"\d", "[1-9]", "[2-6]"))
_NO_ID = r"(?![\w-]|[.:/]\d)"

_FILES = "png|jpe?g|gif|webp|svg|ico|bmp|css|js|ts|json|txt|html?|php|pdf|tar|gz|ya?ml"
_ALSO_COUNTRIES = "md|zip"  # files, and the ends of domains, too: not behind README@2x or notes@v1.2
_EMAIL = regex(
    r"(?<![A-Za-z0-9._%+@-])[A-Za-z0-9](?:[A-Za-z0-9._%+'-]{0,62}[A-Za-z0-9_+-])?"
    rf"@(?!(?:v?\d[\w-]*\.)+(?:{_ALSO_COUNTRIES})(?![A-Za-z0-9]))"
    r"(?!(?:latest|next|main|master|head|stable|dev|beta)\.(?:" + _ALSO_COUNTRIES + r")(?![A-Za-z0-9]))"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}(?!(?:" + _FILES + r")(?![A-Za-z0-9]))[A-Za-z]{2,24}"
    r"(?![A-Za-z0-9-]|:[A-Za-z~][\w-]*/|\.[A-Za-z0-9])"  # git@host:owner/name is the address of a repository
)
_IBAN = regex(r"(?<![\w-])[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?(?![\w-])", re.ASCII | re.IGNORECASE)
_CARD = regex(_2 + r"\d{3}(?:[ -]?\d){11,15}" + _NO_ID, re.ASCII)
_GAP = regex("[ -]")
_CN_ID = regex(_1 + r"\d{5} ?\d{8} ?\d{3}[\dXx]" + _NO_ID, re.ASCII)
_DE_TAX_ID = regex(_1 + r"\d(?:\d{9}| \d{3} \d{3} \d{3})" + _NO_ID, re.ASCII)
_US_SSN = regex(_D + r"\d{2}([- ])\d{2}\1\d{4}" + _NO_ID, re.ASCII)
_BARE_SSN = regex(r"(?i:ssn|social security[a-z ]{0,12}|社保号|社会安全号码?)\W{0,4}(?:is |是|为)?\s?(\d{9})(?!\d)")
_IPV4 = regex(r"\d(?<![\w.-]\d)\d{0,2}\.(?:\d{1,3}\.){2}\d{1,3}(?![\w-]|\.\d)", re.ASCII)
_IPV6 = regex(r"(?<![\w.])(?<![0-9A-Fa-f]:)(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])", re.ASCII)
_MAC = regex(
    r"(?<![\w-])(?<![0-9A-Fa-f]:)[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![\w:-])", re.ASCII
)

_VERSION = regex(
    r"(?:\b(?:version|ver\.?|release|build|firmware|driver|bios|kernel|patch|chapter|section|sect\.|clause|oid)|[§v]"
    r"|版本号?|固件|驱动|内核|补丁|章节|第)\s*(?:is|to|from|now|number|no\.?|[:=]|是|到|为)?\s*$",
    re.IGNORECASE,
)
_ADDRESS = regex(
    r"\b(?:ips?|address|hosts?|server|ping|ssh|proxy|dns|gateway|login)\b|地址|服务器|网关|登录", re.IGNORECASE
)
_PORT = regex(r":\d{2,5}(?![\d.:])", re.ASCII)  # which no version has
_CUE_CHARS = 24
_KNOWN = regex(rf"{PSEUDONYM.pattern}|\[(?:{'|'.join(SensitiveKind)})\]")  # what a policy wrote


def detect(text: str, names: NameFinder | None = None) -> tuple[SensitiveSpan, ...]:
    """Return the personal data and secrets in a text, in order and without overlaps.

    Finds e-mail addresses, telephone and card numbers, IBANs, identity numbers of the US, China and Germany, network
    addresses, passwords, tokens and private keys; names of persons by `names`, if it is given. It has no model of its
    own and finds no postal addresses. Raises InvalidInput for anything but text.
    """
    if not isinstance(text, str):
        raise InvalidInput("text", f"expected text, got {type(text).__name__}", "Pass a str")
    if names is not None and not callable(names):
        raise InvalidInput("names", f"expected a function, got {type(names).__name__}", "Pass one, or leave it out")
    plain, places = (text, None) if text.isascii() else as_plain(text)
    known = [place.span() for place in _KNOWN.finditer(plain)] if "⟨" in text or "[" in text else []
    if known:  # digits take the places of what was replaced, so that no more is found beside it than before
        plain = _KNOWN.sub(lambda place: "0" * len(place[0]), plain)
    has, taken = _Having(plain), _Taken(len(plain), known)
    for kind, needs, spans in _DETECTORS if _MARKED.search(plain) else _DETECTORS[:1]:
        if needs is None or has[needs]:
            taken.take(kind, spans(plain))
    if names is not None:
        taken.take(SensitiveKind.NAME, names(plain))
    found = taken.found()
    return found if places is None else tuple(_moved(span, places) for span in found)


def _moved(span: SensitiveSpan, places: Sequence[int]) -> SensitiveSpan:
    """The span in the text with its invisible characters."""
    return SensitiveSpan(span.kind, places[span.start], places[span.end - 1] + 1)


class _Having(dict[re.Pattern[str], bool]):
    """Whether the text has what a detector needs, looked up once for all that need the same."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def __missing__(self, needs: re.Pattern[str]) -> bool:
        self[needs] = has = needs.search(self._text) is not None
        return has


class _Taken:
    """The places that are taken; a later candidate that overlaps one is dropped."""

    def __init__(self, chars: int, reserved: Iterable[tuple[int, int]]) -> None:
        self._is_taken = bytearray(chars)  # a flag for each character: a sorted list takes too long to grow
        self._spans: list[SensitiveSpan] = []
        for start, end in reserved:
            self._take(start, end)

    def take(self, kind: SensitiveKind, spans: Iterable[tuple[int, int]]) -> None:
        for start, end in spans:
            if self._is_taken.find(1, start, end) < 0:
                self._take(start, end)
                self._spans.append(SensitiveSpan(kind, start, end))

    def _take(self, start: int, end: int) -> None:
        self._is_taken[start:end] = b"\1" * (end - start)

    def found(self) -> tuple[SensitiveSpan, ...]:
        return tuple(sorted(self._spans, key=lambda span: span.start))


def _matching(pattern: re.Pattern[str], check: Callable[[str], bool] | None = None) -> _Spans:
    """The places of a pattern that pass a check."""

    def spans(text: str) -> Iterator[tuple[int, int]]:
        return (found.span() for found in pattern.finditer(text) if check is None or check(found[0]))

    return spans


def _iban_spans(text: str) -> Iterator[tuple[int, int]]:
    """IBANs; words may follow them."""
    for found in _IBAN.finditer(text):
        parts = found[0].split(" ")
        for count in range(len(parts), 0, -1):
            told = " ".join(parts[:count])
            if checks.is_iban(told):
                yield found.start(), found.start() + len(told)
                break


def _card_spans(text: str) -> Iterator[tuple[int, int]]:
    """Card numbers; other groups of digits may stand before and behind them."""
    at = 0
    while found := _CARD.search(text, at):
        start, end = found.span()
        gaps = [start + gap.start() for gap in _GAP.finditer(found[0])]
        ends = [end, *(gap for gap in reversed(gaps) if text[gap] == " ")]  # behind a hyphen a longer number goes on
        stop = next((one for one in ends if checks.is_card(text[start:one])), None)
        if stop is not None:
            yield start, stop
        at = stop or (gaps[0] + 1 if gaps else end)


def _ssn_spans(text: str) -> Iterator[tuple[int, int]]:
    bare = (found.span(1) for found in _BARE_SSN.finditer(text) if checks.is_us_ssn(found[1]))
    return chain(_matching(_US_SSN, checks.is_us_ssn)(text), bare)


def _ipv4_spans(text: str) -> Iterator[tuple[int, int]]:
    for found in _IPV4.finditer(text):
        before = text[max(0, found.start() - _CUE_CHARS) : found.start()]
        if not checks.is_ipv4(found[0]) or _VERSION.search(before):
            continue
        if not checks.is_small_ipv4(found[0]) or _ADDRESS.search(before) or _PORT.match(text, found.end()):
            yield found.span()


_MARKED = regex(r"[\d@:]")  # all but a secret has one of these; most texts that are searched are single words
_DIGITS = regex(r"(?:\d[^\dA-Za-z]{0,3}){7}")

# Kind, what a text must have to be searched for it at all, and where it is.
_DETECTORS: tuple[tuple[SensitiveKind, re.Pattern[str] | None, _Spans], ...] = (
    (SensitiveKind.SECRET, None, secret_spans),
    (SensitiveKind.EMAIL, regex("@"), _matching(_EMAIL)),
    (SensitiveKind.IBAN, regex(r"[A-Za-z]\d\d"), _iban_spans),
    (SensitiveKind.MAC, regex("(?:[:-][0-9A-Fa-f]{2}){5}"), _matching(_MAC, checks.is_mac)),
    (SensitiveKind.IP, regex(":[0-9A-Fa-f]{0,4}:"), _matching(_IPV6, checks.is_ipv6)),
    (SensitiveKind.IP, regex(r"\d\.\d{1,3}\.\d"), _ipv4_spans),
    (SensitiveKind.CARD, _DIGITS, _card_spans),
    (SensitiveKind.CN_ID, _DIGITS, _matching(_CN_ID, checks.is_cn_id)),
    (SensitiveKind.US_SSN, _DIGITS, _ssn_spans),
    (SensitiveKind.DE_TAX_ID, _DIGITS, _matching(_DE_TAX_ID, checks.is_de_tax_id)),
    (SensitiveKind.PHONE, _DIGITS, phone_spans),
)
