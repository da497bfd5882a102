"""Quotation: stored text as it stands in a text for a model, where it can pass for nothing but itself.

Anybody may have written what is stored, and a model sees only characters. So a quotation begins no line but its first:
each further line is indented, where a heading, a date, a speaker or a role would begin. Its first line stands behind a
speaker's name, behind a title in brackets or behind a dash. Marks that open or close a fence (`</memory>`), or that a
model's chat template reads as the beginning of a message, a tool call or its result (`<|im_start|>`, `[INST]`,
`<tool_call>`), get an HTML escape for their bracket: known by how they look, not by how they are spelled (`looks`). So
does the beginning of a fence at the end of a text (`<`, `</mem`), for the next line may end it. Control characters, and
characters that hide text or turn its direction, are left out. All else, such as code and lists, stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from memoryos.language.looks import begins, is_unseen, may_begin, readings, reads, signs
from memoryos.regex import regex
from memoryos.text_cache import text_cache

FENCES = ("memory", "dialogue")  #: the tags between which stored text stands
INDENT = "    "  #: of the lines of a quotation behind its first; it costs no token
NAME_CHARS = 80  # of a speaker's name

_PLAIN = regex(r"[ -;=-Z\\-~]*")  # ASCII without < and [
_BREAK = regex("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_LINE = regex(r"\n(?=[^\n])")
_BREAKS = regex("\n{3,}")
# What cannot be seen: controls, marks of direction, tags, and joiners that no script and no emoji needs.
_UNSEEN = regex(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ANGLES = "<" + signs("angle")  # they read as one opening angle bracket
_OPENING = _ANGLES + signs("relation")  # or as several, or nearly
_SQUARES = "[" + signs("square")
_SLASHES = frozenset("/" + signs("slash"))
# No mark begins with one of the signs behind the lookahead; a text may be full of brackets.
_BRACKET = regex(f"[{re.escape(_OPENING + _SQUARES)}](?![\"#$%&'()*+,.:;<=>?\\[\\]^`{{}}~-])")
_CLOSED = ">]］】⁆⎤⎥⎦❳⟧⟭⦌⦎⦐⦘⹖⹘〕〗〙〛︘︺︼﹈﹞〉⟩〉❭❱⦒⧽﹀" + signs("close")
_CLOSING = frozenset(_CLOSED)
_PIPES = "|" + signs("pipe")
_PIPE_SIGNS = frozenset(_PIPES)
# What chat templates of models begin or end a message, a tool call or a thought with, behind the bracket.
_PIPED = regex(rf"[{_PIPES}]\w|/?\w{{1,32}}[{_PIPES}][{re.escape(_CLOSED)}]")  # <|turn> and <turn|>
_NAMESPACE = regex(rf"\w{{1,16}}[:{signs('colon')}](?=\w)")  # of <seed:think>
_MESSAGES = "bos eos start_of_turn end_of_turn end_of_utterance system user assistant tool human developer sys".split()
_CALLS = "functioncall toolcall invoke function=".split()
_LONGCAT = "longcat_system longcat_user longcat_assistant longcat_tool_call longcat_think longcat_s".split()
_NUMBERED = "extra_id_ special_ reserved_".split()  # a number follows: <SPECIAL_10>
_NAMED_MARKS = (*_MESSAGES, *_CALLS, *_LONGCAT)
_OPEN = (*_NAMED_MARKS, *_NUMBERED)  # more may stand before the bracket closes
_ALONE = tuple("s role think thinking reasoning instructions tools functions".split())
# What a part of a message is called behind whose it is: <tool_result>, <system_prompt>.
_WHOSE = tuple("system user assistant tool human developer function model agent".split())
_PARTS = tuple(
    "call calls use uses result results response responses output outputs prompt prompts message messages"
    " instruction instructions reminder query input content turn context".split()
)
_LINES = ("_", "-")  # between the two
# Those in plain letters, which the slower look at each character would find, too: a text may be full of them.
_SPELLED = regex(
    rf"/?(?ai:{'|'.join(FENCES)}|function=|(?:{'|'.join(_NUMBERED)})\d|(?:{'|'.join(_ALONE)})>)"
    rf"|/?(?ai:{'|'.join(map(re.escape, _NAMED_MARKS))}|(?:{'|'.join(_WHOSE)})[_-](?:{'|'.join(_PARTS)}))(?!\w)"
)
_SQUARED = tuple("inst system_prompt available_tools tool_results tool_calls tool_content".split())
_CAPITALS = tuple("system user assistant think".split())  # in small letters they stand in logs and in code
_IN_CAPITALS = regex(rf"[^a-z{re.escape(_CLOSED)}]{{1,64}}[{re.escape(_CLOSED)}]")
_BETWEEN_PIPES = tuple("system user assistant tool endofturn".split())  # [|system|]
_ANY_BRACKET = regex(f"[{re.escape(_OPENING + _SQUARES)}]")
_BLANK = "\\s" + signs("blank")
_BLANKS = regex(f"[{_BLANK}]+")
_ENDS_SPACED = _BLANK + re.escape("<>[]" + _CLOSED + _ANGLES + _SQUARES)
_SPACED = regex(
    f"[{re.escape(_ANGLES + _SQUARES)}][{_BLANK}]*+(?:[^{_ENDS_SPACED}][{_BLANK}]*+){{1,64}}+[{re.escape(_CLOSED)}]"
)
# A mark with blanks is closed, and its name has three letters or more: "a < s > b" and "a < |x| > b" stay.
_NAMED = regex(rf"[{re.escape('/' + signs('slash'))}]?[{_PIPES}]?(?:[\w:-]|[^\x00-\x7f]){{3,}}[{_PIPES}]?")
_ENDS_NAME = ":>]】#*`…|" + _OPENING + _SQUARES + signs("colon", "close", "hash", "pipe", "blank")
_NAME_SIGNS = regex(f"[\\s{re.escape(_ENDS_NAME)}]+")  # \\s has every break of a line
_ENDS_LABEL = ">]】" + _OPENING + _SQUARES + signs("close", "pipe") + "|"
_LABEL_SIGNS = regex(f"[{re.escape(_ENDS_LABEL)}]|[:{signs('colon')}](?=\\s|$)")  # a colon names a speaker
_NAME_LEAD = "-–—=+~>.,;!?/\\()（）_'\"“”‘’ "
_ROUND = regex("[()（）]")
_PAIR = regex("[(（][^()（）]*[)）]")
# What begins a block of Markdown: a heading, a quote, code, a table, a list, or a line across the page.
_BLOCK = regex(r"[#＃>＞`~|=]|(?:[-*+•]|\d{1,9}[.)])(?:\s|$)|(?:[-*_][ \t]*+){3,}$", re.MULTILINE)


def quotation(text: str) -> str:
    """The text as a part of another, on as many lines as it has."""
    if _PLAIN.fullmatch(text):
        return text
    lines = [line.rstrip() for line in _BREAK.split(text)]
    joined = disarmed("\n".join(lines)).strip("\n")
    return _LINE.sub(f"\n{INDENT}", _BREAKS.sub("\n\n", joined))


def one_line(text: str) -> str:
    """The text on one line."""
    return text if _PLAIN.fullmatch(text) else disarmed(" ".join(" ".join(_BREAK.split(text)).split()))


def item(text: str) -> str:
    """The text as an item of a list."""
    quoted = quotation(text)
    return f"- \\{quoted}" if _BLOCK.match(quoted) else f"- {quoted}"


def said(speaker: str | None, role: str, text: str) -> str:
    """A speaker's words after their name, or after their role if they have no name."""
    return f"{name(speaker, role)}: {quotation(text)}"


def fenced(tag: str, text: str) -> str:
    """The text between the posts of a fence; empty without text."""
    return f"<{tag}>\n{disarmed(text)}\n</{tag}>" if text else ""


@text_cache(4096)
def name(speaker: str | None, role: str) -> str:
    """A speaker's name, short, on one line and without a sign that ends it; the role where nothing is left of it.

    A name that is the name of another role stands behind the own one.
    """
    told = " ".join(_NAME_SIGNS.sub(" ", visible(speaker or "")).split())[:NAME_CHARS].lstrip(_NAME_LEAD)
    known = " ".join(_without_lone_brackets(told).split())
    if not known:
        return role
    return f"{role} ({known})" if _is_role(known) and known.casefold() != role else known


def label(parts: Iterable[str], limit: int) -> str:
    """Titles and the like in square brackets, each short, on one line and without a sign that ends it; "" if empty."""
    shown = (" ".join(_LABEL_SIGNS.sub(" ", visible(" ".join(part.split()))).split()) for part in parts)
    told = [short for one in shown if (short := one[:limit].rstrip(" :"))]
    return f"[{', '.join(told)}]" if told else ""


def visible(text: str) -> str:
    """The text without what cannot be seen."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub("", text)


def disarmed(text: str) -> str:
    """The text without what cannot be seen, its marks of fences and messages escaped."""
    if _PLAIN.fullmatch(text):
        return text
    seen = visible(text)
    places = _marks(seen)
    return "".join(_escaped(seen, places)) if places else seen


def own_lines(text: str) -> str:
    """The text with lines as they are, which only LF breaks; marks are escaped."""
    return text if _PLAIN.fullmatch(text) else disarmed(_BREAK.sub("\n", text))


def _marks(text: str) -> list[int]:
    """The places of brackets that begin a mark, whatever hides between its characters."""
    hidden = frozenset(sign for sign in set(text) if not sign.isascii() and is_unseen(sign))
    if not hidden:
        return sorted(_marks_in(text))
    letters = {sign for sign in hidden if readings(sign)}  # small ones above others: they hide a mark, or spell it
    return sorted({place for left_out in {hidden, hidden - letters} for place in _marks_without(text, left_out)})


def _marks_without(text: str, hidden: frozenset[str]) -> Iterator[int]:
    bare = text.translate(dict.fromkeys(map(ord, hidden)))
    places = dict(zip(_brackets(bare), _brackets(text), strict=True))
    return (places[one] for one in _marks_in(bare))


def _marks_in(text: str) -> set[int]:
    spaced = {match.start() for match in _SPACED.finditer(text) if _is_spaced_mark(match)}
    return spaced.union(match.start() for match in _BRACKET.finditer(text) if _is_mark(text, match.end()))


def _brackets(text: str) -> Iterator[int]:
    return (match.start() for match in _ANY_BRACKET.finditer(text))


def _is_spaced_mark(match: re.Match[str]) -> bool:
    """Whether the signs between two brackets are those of a mark, once the blanks between them are left out."""
    mark = _BLANKS.sub("", match[0])
    if len(mark) == len(match[0]) or _NAMED.fullmatch(mark, 1, len(mark) - 1) is None:
        return False
    first = begins(mark, 1)
    return _is_squared(mark, 1, first) if mark[0] in _SQUARES else _is_angled(mark, 1, first)


def _escaped(text: str, places: list[int]) -> Iterator[str]:
    start = 0
    for place in places:
        yield text[start:place]
        yield "&#91;" if text[place] in _SQUARES else "&lt;"
        start = place + 1
    yield text[start:]


def _is_mark(text: str, start: int) -> bool:
    """Whether a mark of a message, or the tag of a fence, follows a bracket."""
    bracket, first = text[start - 1], begins(text, start)
    if bracket in _SQUARES:
        return _is_squared(text, start, first)
    if bracket in _ANGLES and _is_angled(text, start, first):
        return True
    if not first:
        return True
    return any(reads(text, start, tag, is_loose=True) for tag in _begun(first, FENCES))


@lru_cache(maxsize=4096)
def _begun(first: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the words that may begin with a character."""
    return tuple(word for word in words if may_begin(first, word))


def _is_squared(text: str, start: int, first: str) -> bool:
    if text[start : start + 1] in _PIPE_SIGNS:
        return _is_word(text, start + 1, first, _BETWEEN_PIPES)
    if _is_word(text, start, first, _SQUARED, is_closed=True):
        return True
    if _IN_CAPITALS.match(text, start) is None:
        return False
    return _is_word(text, start, first, _CAPITALS, is_closed=True) or _is_part(text, start, first, is_closed=True)


def _is_angled(text: str, start: int, first: str) -> bool:
    if _SPELLED.match(text, start) or _PIPED.match(text, start):
        return True
    if _is_message(text, start, first):
        return True
    named = _NAMESPACE.match(text, start + (text[start : start + 1] in _SLASHES))
    return named is not None and _is_message(text, named.end(), text[named.end()])


def _is_message(text: str, start: int, first: str) -> bool:
    is_open = _is_word(text, start, first, _OPEN) or _is_part(text, start, first)
    return is_open or _is_word(text, start, first, _ALONE, is_closed=True)


def _is_part(text: str, start: int, first: str, *, is_closed: bool = False) -> bool:
    """Whether there stands whose a part of a message is, then a low line or a hyphen, then what the part is called."""
    start += text[start : start + 1] in _SLASHES
    for word in _begun(first, _WHOSE):
        end = reads(text, start, word)
        names = [] if end is None else [reads(text, end, line) for line in _LINES]
        if any(name and _is_word(text, name, begins(text, name), _PARTS, is_closed=is_closed) for name in names):
            return True
    return False


def _is_word(text: str, start: int, first: str, words: tuple[str, ...], *, is_closed: bool = False) -> bool:
    """Whether one of the words, which begin with that character, stands there by itself, behind a slash or none."""
    start += text[start : start + 1] in _SLASHES
    if not (known := _begun(first, words)):
        return False
    ends = ((word, reads(text, start, word)) for word in known)
    return any(end is not None and _is_end(text[end : end + 1], word, is_closed) for word, end in ends)


def _is_end(sign: str, word: str, is_closed: bool) -> bool:
    if is_closed:
        return sign in _CLOSING
    if word.endswith("_"):
        return sign.isdigit()
    return not word[-1].isalnum() or not (sign.isalnum() or sign == "_")  # a name follows "="


def _without_lone_brackets(known: str) -> str:
    """The name; if a round bracket in it has no partner, without any of them."""
    return _ROUND.sub("", known) if _ROUND.search(_PAIR.sub("", known)) else known


def _is_role(known: str) -> bool:
    """Whether a name reads as that of a role; one in plain letters does when it is spelled so."""
    if known.isascii():
        return known.casefold() in _ROLES
    ends = (reads(known, 0, role) for role in _ROLES)
    return any(end is not None and not begins(known, end) for end in ends)


_ROLES = frozenset(
    ("user", "assistant", "system", "tool", "developer", "human", "ai", "system message", "tool message")
)
