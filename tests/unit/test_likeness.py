"""What counts as an update of a published fact, by words alone."""

from __future__ import annotations

import pytest

from memoryos.operation.knowledge.likeness import differs_in_detail

UPDATES = [
    ("Adults take at most 4 g of paracetamol a day", "Adults take at most 3 g of paracetamol a day"),
    ("Parcels to Norway arrive within 5 days.", "Parcels to Norway arrive within 3 days."),
    ("Parcels to Norway arrive within 7 days.", "Parcels to Norway now arrive within a week or 10 days."),
    ("The office opens at 9.", "The office now opens at 10."),
    ("Refunds are paid within 14 days.", "Refunds are issued within 30 days."),
    ("Passwords must have at least 8 characters.", "Passwords need a minimum of 12 characters."),
    ("Smoking is allowed on the terrace.", "Smoking is no longer permitted on the terrace."),
    ("Returns are accepted for 30 days from purchase.", "Returns are accepted for 14 days after delivery."),
    ("The office opens at 9.", "From May on, the office opens at 10."),
    ("Storage is limited to 5 GB a user.", "Storage is limited to 500 MB a user."),
    ("The canteen is open on Fridays.", "The canteen is no longer open on Fridays."),
    ("Refunds are possible within 14 days.", "Refunds are possible within 30 days of the purchase."),
    ("寄往挪威的包裹5天到达。", "寄往挪威的包裹3天到达。"),
    ("成人每天最多服用4克。", "成人每天最多服用3克。"),
]

TWO_THINGS = [
    ("Parcels to Norway arrive within 5 days.", "Parcels to Spain arrive within 3 days."),
    ("Gold members get 10 % off.", "Silver members get 5 % off."),
    ("Adults pay 12 euros.", "Children pay 6 euros."),
    ("The Oslo office has 40 desks.", "The Bergen office has 25 desks."),
    ("Employees may spend 50 euros on a dinner.", "Managers may spend 80 euros on a dinner."),
    ("The library is open on Sundays.", "The museum is not open on Sundays."),
    ("寄往挪威的包裹5天到达。", "寄往西班牙的包裹3天到达。"),
    ("成人票12元。", "儿童票6元。"),
]


@pytest.mark.parametrize(("old", "new"), UPDATES)
def test_another_number_or_a_negation_is_an_update(old: str, new: str):
    assert differs_in_detail(old, new)


@pytest.mark.parametrize(("old", "new"), TWO_THINGS)
def test_two_things_with_a_number_each_are_no_update(old: str, new: str):
    assert not differs_in_detail(old, new)
    assert not differs_in_detail(new, old)
