"""BM25: the weight of an occurrence of a word in a text.

    score(q, t) = Σ idf(w) · f·(k1 + 1) / (f + k1·(1 - b + b·L/avg L))        (Robertson & Zaragoza 2009, equation 3.15)

f is how often the word w occurs in the text t and L is its length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

K1 = 1.2
B = 0.75


def idf(frequency: Any, texts: int) -> Any:
    """The weight of a word that occurs in `frequency` of the texts; a number, or an array of them."""
    return np.log1p((texts - frequency + 0.5) / (frequency + 0.5))
