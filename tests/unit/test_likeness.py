"""What counts as an update of a published fact, by words alone."""

from __future__ import annotations

import pytest

from memoryos.operation.knowledge.likeness import differs_in_detail, says_the_same

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


# The first says something else than the second, with few other words.
TURNED = [
    ("I used to live in Oslo.", "I live in Oslo."),
    ("I would move to Rome.", "I move to Rome."),
    ("I might quit the job.", "I quit the job."),
    ("Maybe I am allergic to nuts.", "I am allergic to nuts."),
    ("I almost bought the house.", "I bought the house."),
    ("Rarely give him aspirin.", "Give him aspirin."),
    ("Only adults may swim here.", "Adults may swim here."),
    ("Pay at most 5 euros for lunch", "Pay 5 euros for lunch"),
    ("The price of lunch is above 5 euros", "The price of lunch is 5 euros"),
    ("Is the shop open?", "The shop is open."),
    ("If it rains the shop is open.", "The shop is open."),
    ("I can eat everything except nuts.", "I can eat everything nuts."),
    ("Call Bob unless it rains.", "Call Bob it rains."),
    ("I failed to pay the rent.", "I pay the rent."),
    ("I refuse to pay the rent.", "I pay the rent."),
    ("I forgot to lock the door.", "I lock the door."),
    ("Few people like Rome", "People like Rome"),
    ("我以前住在上海。", "我住在上海。"),
    ("我曾经住在上海。", "我住在上海。"),
    ("我差点买了房子。", "我买了房子。"),
    ("店只有周一开门。", "店周一开门。"),
    ("店周一开门吗？", "店周一开门。"),
    ("他可能对花生过敏。", "他对花生过敏。"),
]

REPEATED = [
    ("I live in Oslo.", "I live in Oslo now."),
    ("Ann really likes green tea.", "Ann likes green tea."),
    ("I used to live in Oslo.", "I used to live in Oslo, by the way."),
    ("Pay at most 5 euros for lunch", "Please pay at most 5 euros for lunch"),
    ("我以前住在上海。", "我以前就住在上海。"),
]


@pytest.mark.parametrize(("turned", "plain"), TURNED)
def test_a_word_that_turns_the_meaning_makes_it_another_statement(turned: str, plain: str):
    assert not says_the_same(turned, plain)
    assert not says_the_same(plain, turned)


@pytest.mark.parametrize(("old", "new"), REPEATED)
def test_words_that_add_nothing_leave_it_the_same(old: str, new: str):
    assert says_the_same(old, new)
