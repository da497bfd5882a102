"""Credentials: passwords, tokens and private keys, by the formats of their issuers and by the words before them.

Own patterns rather than detect-secrets: that reads files line by line, reports the line of a secret and not its place,
knows no Chinese, and needs `requests`. Random-looking text alone is no secret, because it is a hash more often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from memoryos.regex import regex

# Each issuer's own beginning, and at least as many characters as it uses.
_FORMATS = regex(
    r"(?<![\w-])(?:"
    r"(?:AKIA|ASIA)[A-Z0-9]{16}"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{50,255}|glpat-[\w-]{20,64}"
    r"|xox[abeprs]-[\w-]{10,255}|xapp-[\w-]{20,255}"  # Slack
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/=]{24,64}"  # Stripe
    r"|sk-(?:[a-z]+\d*-)*[\w-]{20,255}"  # OpenAI, Anthropic and others
    r"|AIza[\w-]{35}|ya29\.[\w-]{20,255}|GOCSPX-[\w-]{28}"  # Google
    r"|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,255}|hf_[A-Za-z0-9]{30,64}|dckr_pat_[\w-]{27}"
    r"|SG\.[\w-]{16,32}\.[\w-]{32,64}|key-[0-9a-f]{32}"  # SendGrid, Mailgun
    r"|SK[0-9a-f]{32}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|do[opr]_v1_[0-9a-f]{64}"  # Twilio, Shopify, DigitalOcean
    r"|\d{8,10}:AA[\w-]{33}"  # Telegram
    r"|AGE-SECRET-KEY-1[A-Z0-9]{58}"
    r"|eyJ[\w-]{10,4096}\.[\w-]{10,4096}\.[\w-]{10,4096}"  # JSON Web Token
    r")(?![\w-])",
    re.ASCII,
)
_PRIVATE_KEY = regex(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----)){0,20000}(?:-----END [A-Z ]{0,40}-----)?"
)
_IN_URL = regex(r"\b[a-z][a-z0-9+.-]{1,30}://[^\s:/@]{0,256}:([^\s@/]{3,256})@", re.IGNORECASE | re.ASCII)
_BEARER = regex(r"\b(?:Bearer|Basic)\s+([A-Za-z0-9._~+/-]{16,4096}=*)", re.ASCII)
_NAMES = (
    r"(?<![A-Za-z])(?:(?P<personal>pass(?:word|wort|wd|phrase|code)?|kennwort|pwd|pin)"
    r"|(?:client|app|consumer)[ _-]?secret"
    r"|(?:secret|api|access|auth|account|private|encryption)[ _-]?(?:access[ _-]?)?(?:key|token)"
    r"|(?:auth|access|refresh|bot|session)?[ _-]?token|secret|credentials?)(?![A-Za-z])"
)
_WORDS = (
    "pass",
    "kennwort",
    "pwd",
    "pin",
    "secret",
    "token",
    "key",
    "credential",
)  # one of them is in each of these names
_CHINESE_NAMES = r"(?P<own>密码|口令|验证码)|密钥|秘钥|令牌|访问码"
_VALUE = r"(?:\"([^\"\n]{4,256})\"|'([^'\n]{4,256})'|([!-~]{4,256}))"
_NAMED = regex(
    _NAMES
    + r"[\"']?(?:\s{0,4}(?::=|=>|[:=])\s{0,4}"
    + r"|\s{1,3}(?:is|was|ist|lautet)(?:\s{1,3}now)?(?:\s{1,3}|\s{0,3}[:=]\s{0,3}))"
    + _VALUE,
    re.IGNORECASE,
)
_CHINESE_NAMED = regex(
    rf"(?:{_CHINESE_NAMES})[\"']?\s{{0,4}}(?:是|为|(?:改成|改为|设成|设为)了?)?\s{{0,4}}[:=]?\s{{0,4}}{_VALUE}"
)
_PLACEHOLDER = regex(
    r"(.)\1*|.*(?:your|example|changeme|placeholder|redacted|xxxx|\*\*\*|\.\.\.).*|[<${%\[(*\\].*"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*[(\[].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:[;)\],\\].*)?"  # an expression
    r"|pass(?:word|wd)?|none|null|true|false|undefined",
    re.IGNORECASE,
)

_FORM = regex(r".*(?:your|xxxx).*", re.IGNORECASE)  # of a token, with nothing in it
_SWITCH = regex("[a-z][A-Z]")  # more of them than words have
_DRAWN = 3  # of them at least in letters that were drawn by chance, and capitals side by side, which CamelCase lacks
_CAPITALS = regex("[A-Z]{2}")


def secret_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each secret; they may overlap."""
    lowered = text.lower()
    for pattern, needs in ((_PRIVATE_KEY, "-----begin"), (_FORMATS, None)):
        if needs is None or needs in lowered:
            yield from (found.span() for found in pattern.finditer(text) if not _is_blank(found[0]))
    for pattern, needs in ((_IN_URL, "://"), (_BEARER, "b")):
        if needs in lowered:
            yield from (found.span(1) for found in pattern.finditer(text) if not _PLACEHOLDER.fullmatch(found[1]))
    if any(word in lowered for word in _WORDS):
        yield from chain.from_iterable(map(_value, _NAMED.finditer(text)))
    if not text.isascii():
        yield from chain.from_iterable(map(_value, _CHINESE_NAMED.finditer(text)))


def _is_blank(token: str) -> bool:
    """Whether it has only the form of a token; of those that are drawn by chance, some have no digit."""
    is_drawn = len(_SWITCH.findall(token)) >= _DRAWN and _CAPITALS.search(token) is not None
    return not (any(map(str.isdigit, token)) or is_drawn) or _FORM.fullmatch(token) is not None


def _value(found: re.Match[str]) -> Iterator[tuple[int, int]]:
    groups = found.re.groups
    group = next(one for one in (groups - 2, groups - 1, groups) if found[one] is not None)
    start, value = found.start(group), found[group]
    if group == groups:  # in running text it ends before what ends the sentence
        value = re.split(r"[,;，。；、](?:\s|$)|[\"')\]}]+$", value)[0].rstrip(".,;:)\"'")
    if _is_secret(value, is_password=bool(found[1])):
        yield start, start + len(value)


def _is_secret(value: str, *, is_password: bool) -> bool:
    if len(value) < 4 or _PLACEHOLDER.fullmatch(value):
        return False
    has_digit, has_other = any(map(str.isdigit, value)), not value.isdigit()
    if has_digit and has_other:
        return len(value) > 5
    if has_digit:
        return is_password
    cases = (any(map(str.islower, value)), any(map(str.isupper, value)), not value.isalpha())
    return len(value) > 7 and (all(cases) or len(_SWITCH.findall(value)) > 3)
