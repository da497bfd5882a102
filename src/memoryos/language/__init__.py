"""Words, sentences and keywords, in English and Chinese, without a model."""

from __future__ import annotations
