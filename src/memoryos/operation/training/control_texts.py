"""Control texts: general sentences, so that an adapter that forgets how to speak is noticed.

The first ones are read while an adapter is trained, so that it keeps what the model predicts there. The others are not:
the gate measures the perplexity of these before and after.
"""

from __future__ import annotations

REPLAYED = (
    "Water boils at one hundred degrees at sea level, and it freezes at zero.",
    "Paris is the capital of France and one of the most visited cities in the world.",
    "A triangle has three sides, and its angles add up to one hundred and eighty degrees.",
    "Shakespeare wrote Hamlet, Macbeth, and many sonnets that people still read.",
    "To bake bread you need flour, water, yeast, and salt, and you let the dough rise.",
    "The sun rises in the east because the earth turns around its axis.",
    "She opened the window, looked at the empty street, and wondered where everybody was.",
    "The train leaves at nine in the morning and arrives a little before noon.",
    "If you want to learn a language, speak it every day and read what you enjoy.",
    "The committee will publish its report next week, after the last hearing.",
    "def add(a, b):\n    return a + b\n",
    "Dear Sir or Madam, thank you for your letter of the third of May.",
)

HELD_OUT = (
    "The heart pumps blood through the body, and the lungs give it oxygen.",
    "Mount Everest is the highest mountain on earth above sea level.",
    "Plants take in carbon dioxide and give off oxygen during the day.",
    "The second world war ended in 1945, after six years of fighting.",
    "A computer stores numbers as bits, and each bit is either zero or one.",
    "Bees collect nectar from flowers and turn it into honey in their hive.",
    "The children ran down to the beach and built a castle out of wet sand.",
    "Please turn off the lights when you leave the room in the evening.",
)
