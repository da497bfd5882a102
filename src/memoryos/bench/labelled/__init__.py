"""Pages with what should be learned from them, labelled by hand: one page a line, in English and Chinese.

The pages are written for this bench; more than half hold nothing to learn, or a trap: supposed, quoted, played or
sarcastic words, questions, pasted documents, and text that gives orders to a memory. What a friend would still want
to know next month is a fact: what is so, what happened, what is planned with a date, tastes, and what an assistant is,
recommended or promised; moods, requests and errands are none. A name or an age alone is a profile field and no fact.
A trait is labelled where the user's own words show it.

The half `held_out` was written before anything was measured on it, and no rule is made for a single page of it.

`messy_*.jsonl` hold messages as people type them: run-ons, typos, sarcasm, quotes, suppositions, third persons,
negation, corrections, pets. Every second one is held out. All of them were written before anything was measured on
them, and of the held-out ones nothing but totals was looked at while the rules were made.
"""

from __future__ import annotations
