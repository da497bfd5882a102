"""Sensitive: the kinds of personal data and secrets that are found in text, and where they are in it."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.choice import Choice
from memoryos.plain import Plain
from memoryos.regex import regex


class SensitiveKind(Choice):
    """A kind of personal data, or a secret."""

    # The values are in tags, masks and pseudonyms of stored memories: do not rename them.
    EMAIL = "email"  # an e-mail address
    PHONE = "phone"  # a telephone number
    CARD = "card"  # the number of a bank card, with its check digit
    IBAN = "iban"  # a bank account, with its check digits
    US_SSN = "us_ssn"  # a US social security number
    CN_ID = "cn_id"  # a Chinese resident identity number, with its check digit
    DE_TAX_ID = "de_tax_id"  # a German tax id, with its check digit
    IP = "ip"  # a network address, IPv4 or IPv6
    MAC = "mac"  # the address of a network card
    SECRET = "secret"  # a password, token or private key
    NAME = "name"  # a person's name; found only with the setting `privacy_names`


STRUCTURED = tuple(kind for kind in SensitiveKind if kind is not SensitiveKind.NAME)  # found without a model


class PrivacyAction(Choice):
    """What is done with personal data and secrets."""

    OFF = "off"  # nothing; nothing is searched for
    TAG = "tag"  # stored as they are; the memory gets the tags `privacy:KIND`
    MASK = "mask"  # `[KIND]` is stored in their place
    PSEUDONYM = "pseudonym"  # encrypted with `privacy_key`: `⟨KIND:...⟩` is stored in their place
    REFUSE = "refuse"  # the call is refused


# A pseudonym: 16 bytes of authentication and the encrypted text, as base32. Nothing shorter is one, so that no number
# can hide in brackets.
PSEUDONYM = regex(rf"⟨({'|'.join(SensitiveKind)}):([a-z2-7]{{28,}})⟩")


@dataclass(frozen=True, slots=True)
class SensitiveSpan(Plain):
    """A place in a text."""

    kind: SensitiveKind  #: what it is
    start: int  #: first character
    end: int  #: behind the last character
