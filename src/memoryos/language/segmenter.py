"""Chinese words, as jieba's dictionary has them; it is read when the first of them is asked for, in 0.1 s."""

from __future__ import annotations


def cut(text: str) -> list[str]:
    """The words of Chinese text, in order."""
    import rjieba

    return list(rjieba.cut(text))


def tagged(text: str) -> list[tuple[str, str]]:
    """The words of Chinese text with their parts of speech, such as `ns` for a place."""
    import rjieba

    return [(str(word), str(tag)) for word, tag in rjieba.tag(text)]
