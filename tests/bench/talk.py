"""A conversation small enough to check by hand, as LoCoMo would have it."""

from __future__ import annotations

SESSIONS = {
    "session_1": [
        ("D1:1", "I adopted a parrot called Kiwi yesterday."),
        ("D1:2", "A parrot, how wonderful! Does Kiwi talk?"),
        ("D1:3", "The tax office lost my form again."),
        ("D1:4", "Send it by registered mail this time."),
    ],
    "session_2": [
        ("D2:1", "My sister Ida moved to Oslo for a job at the harbour."),
        ("D2:2", "Will you bring the parrot when you visit her?"),
        ("D2:3", "No, the neighbour feeds it, the ferry takes nine hours."),
    ],
}
QUESTIONS = [
    ("Which animal came up twice?", 1, ["D1:1; D2:2"]),
    ("How long does the ferry take?", 2, ["D:2:03"]),
    ("Does the parrot talk?", 4, ["(D1:2)", "D9:9"]),
    ("Would Ann like a cat?", 3, ["D"]),
    ("Is Ben kind?", 3, []),
    ("Which dog did Ann adopt?", 5, ["D1:1"]),
]


def talk(name="conv-1", sessions=None, questions=None):
    """One sample of a LoCoMo file: Ann and Ben in turn."""
    conversation = {"speaker_a": "Ann", "speaker_b": "Ben"}
    for day, (session, turns) in enumerate((sessions or SESSIONS).items(), 8):
        conversation[f"{session}_date_time"] = f"1:56 pm on {day} May, 2023"
        conversation[session] = [
            {"speaker": "Ben" if number % 2 else "Ann", "dia_id": dia_id, "text": text}
            for number, (dia_id, text) in enumerate(turns)
        ]
    asked = QUESTIONS if questions is None else questions
    qa = [{"question": text, "category": number, "evidence": ids, "answer": 7} for text, number, ids in asked]
    return {"sample_id": name, "conversation": conversation, "qa": qa}
