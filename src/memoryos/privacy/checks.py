"""Checks: whether the digits that a pattern found really are a card, an account or an identity number.

The libraries behind them are loaded at the first candidate, because most texts have none.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from memoryos.regex import regex

# IIN ranges with the lengths that their issuers use.
_CARDS = regex(
    r"4\d{15}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|3(?:52[89]|5[3-8]\d)\d{12}"
    r"|62\d{14,17}|(?:6011|64[4-9]\d|65\d{2})\d{12}"
)
_CARD_GROUPS = {(4, 4, 4, 4), (4, 6, 5), (4, 4, 4, 4, 3), (4, 4, 4, 4, 2), (6, 13), (6, 10)}
_PROVINCES = frozenset(
    "11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83".split()
)
_BIRTHS = range(1880, 2100)
_SMALL = 32  # octets of a version number are rarely larger


def is_card(found: str) -> bool:
    """Whether it is a card number: a known issuer, groups as on cards, and the Luhn digit."""
    from stdnum import luhn

    groups = re.split("[ -]", found)
    number = "".join(groups)
    has_form = len(groups) == 1 or tuple(map(len, groups)) in _CARD_GROUPS
    return has_form and _CARDS.fullmatch(number) is not None and luhn.is_valid(number)


def is_iban(found: str) -> bool:
    """Whether it is an IBAN: the form of its country, and the check digits."""
    from stdnum import iban

    return iban.is_valid(found)


def is_cn_id(found: str) -> bool:
    """Whether it is a Chinese resident identity number: a province, a date of birth, and the check digit.

    The county is not looked up: a person keeps the number of a county that has another code now.
    """
    from stdnum.cn import ric
    from stdnum.exceptions import ValidationError

    number = ric.compact(found)
    try:
        birth = ric.get_birth_date(number)
    except ValidationError:
        return False
    return number[:2] in _PROVINCES and birth.year in _BIRTHS and number[-1] == ric.calc_check_digit(number)


def is_de_tax_id(found: str) -> bool:
    """Whether it is a German tax id: one digit is repeated, and the check digit fits."""
    from stdnum.de import idnr

    return idnr.is_valid(found)


def is_us_ssn(found: str) -> bool:
    """Whether it is in a range of US social security numbers, which have no check digit."""
    from stdnum.us import ssn

    return ssn.is_valid(found.replace(" ", "-"))


def is_ipv4(found: str) -> bool:
    """Whether it is an address of a machine other than this one, and no netmask."""
    try:
        address = IPv4Address(found)
    except AddressValueError:
        return False
    is_nobody = address.is_loopback or address.is_unspecified or address.is_multicast
    return not is_nobody and not found.startswith("255.") and not found.startswith("0.")


def is_small_ipv4(found: str) -> bool:
    """Whether an address may also be a version or section number: it is public and has only small numbers."""
    return not IPv4Address(found).is_private and all(int(part) < _SMALL for part in found.split("."))


def is_ipv6(found: str) -> bool:
    """Whether it is an address of a machine other than this one; `a::b` is rather a name in a program."""
    try:
        address = IPv6Address(found)
    except AddressValueError:
        return False
    parts = [part for part in found.split(":") if part]
    return not address.is_loopback and not address.is_unspecified and len(parts) > 2


def is_mac(found: str) -> bool:
    """Whether it is the address of a network card; with hyphens and without letters it is rather a list of numbers."""
    digits = re.sub("[:-]", "", found).lower()
    return len(set(digits)) > 2 and (":" in found or not digits.isdigit())
