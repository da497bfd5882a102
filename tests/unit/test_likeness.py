"""What counts as an update of a published fact, by words alone."""

from __future__ import annotations

import pytest

from memoryos.operation.knowledge.likeness import differs_in_detail, repeats, says_the_same

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


APART = [  # pairs in which one word changes the meaning: order, place, time, amount, person, denial
    ("I take the blue pill before dinner.", "I take the blue pill after dinner."),
    ("Ana drinks her coffee with sugar.", "Ana drinks her coffee without sugar."),
    (
        "The spare key is in the left drawer of the hall cupboard.",
        "The spare key is in the right drawer of the hall cupboard.",
    ),
    ("The nurse comes every morning to change the dressing.", "The nurse comes every evening to change the dressing."),
    ("My father takes 5 mg of ramipril a day.", "My father takes 10 mg of ramipril a day."),
    ("The team meeting is on Tuesday at nine in room four.", "The team meeting is on Thursday at nine in room four."),
    ("Peter is allergic to peanuts and to shellfish.", "Peter is not allergic to peanuts and to shellfish."),
    ("Maria Lopez is the godmother of my younger son.", "Maria Gomez is the godmother of my younger son."),
    ("The dentist moved the appointment to 3 March.", "The dentist moved the appointment to 13 March."),
    ("Call my sister first when something happens.", "Call my brother first when something happens."),
    ("The user likes dogs more than cats.", "The user likes cats more than dogs."),
    ("Please always close the upper window at night.", "Please never close the upper window at night."),
    ("The train to Lyon leaves from platform two.", "The train to Lyon leaves from platform three."),
    ("The train from Lyon leaves at noon every weekday.", "The train to Lyon leaves at noon every weekday."),
    (
        "The heating must be turned on when we leave the house.",
        "The heating must be turned off when we leave the house.",
    ),
    ("He can eat gluten since the last blood test.", "He can't eat gluten since the last blood test."),
    ("Our old landlord pays for the repairs.", "Our new landlord pays for the repairs."),
    ("I sold the red bicycle last week.", "I bought the red bicycle last week."),
    ("The invoice was paid in January 2024.", "The invoice was paid in January 2025."),
    ("The API limit is 100 requests per minute.", "The API limit is 100 requests per hour."),
    ("Tom lent Lisa his camera for the trip.", "Lisa lent Tom her camera for the trip."),
    ("I usually wake up at 6 am on weekdays.", "I usually wake up at 6 pm on weekdays."),
    ("Her office is above the bakery on Main Street.", "Her office is below the bakery on Main Street."),
    ("We go running twice a week in the park.", "We go running once a week in the park."),
    ("Everyone in the team has access to the vault.", "Nobody in the team has access to the vault."),
    ("Ich nehme die Tablette vor dem Abendessen.", "Ich nehme die Tablette nach dem Abendessen."),
    ("Anna trinkt ihren Kaffee mit Milch.", "Anna trinkt ihren Kaffee ohne Milch."),
    ("Mein Onkel darf wieder Auto fahren.", "Mein Onkel darf nicht wieder Auto fahren."),
    ("Der Termin beim Arzt ist am Montag um acht.", "Der Termin beim Arzt ist am Dienstag um acht."),
    ("Wir haben einen Hund und zwei Katzen.", "Wir haben keinen Hund und zwei Katzen."),
    ("Tomo la pastilla antes de la cena.", "Tomo la pastilla después de la cena."),
    ("El médico me recomendó caminar por la mañana.", "El médico me recomendó caminar por la noche."),
    ("A Lucía le gusta el té con azúcar.", "A Lucía le gusta el té sin azúcar."),
    ("Mi hermano mayor vive en Sevilla.", "Mi hermano menor vive en Sevilla."),
    ("我晚饭前吃这种药。", "我晚饭后吃这种药。"),
    ("她喝咖啡加糖。", "她喝咖啡不加糖。"),
    ("会议在星期二上午九点开始。", "会议在星期二下午九点开始。"),
    ("备用钥匙在左边的抽屉里。", "备用钥匙在右边的抽屉里。"),
    ("我的妹妹住在上海。", "我的姐姐住在上海。"),
    ("他每天吃两片药。", "他每天吃三片药。"),
    ("The stall opens before sunrise during the harvest.", "The stall opens after sunrise during the harvest."),
    ("The lens on the left eye was replaced in May.", "The lens on the right eye was replaced in May."),
    ("Grandma sleeps with the light on.", "Grandma sleeps with the light off."),
    ("Send the report to Karl before the audit.", "Send the report to Kurt before the audit."),
    ("The bridge is closed on weekends until April.", "The bridge is open on weekends until April."),
    ("My daughter needs 40 units of insulin at lunch.", "My daughter needs 14 units of insulin at lunch."),
    ("The cat must stay inside the house during the night.", "The cat must stay outside the house during the night."),
    ("Our flight to Oslo is on Friday.", "Our flight to Oslo is on Saturday."),
    ("Do not wake me up earlier than seven.", "Do not wake me up later than seven."),
    ("The wifi password was changed on 2 June.", "The wifi password was changed on 12 June."),
    ("She has fewer than three meetings a day.", "She has more than three meetings a day."),
    ("Paula manages Hugo in the sales team.", "Hugo manages Paula in the sales team."),
    ("The user wants short answers in English.", "The user wants long answers in English."),
    ("The rent is due on the first of every month.", "The rent is due on the last of every month."),
    ("I didn't finish the course on knots.", "I did finish the course on knots."),
    ("The plant needs water every two days in summer.", "The plant needs water every two days in winter."),
    ("Der Schlüssel liegt links neben der Tür.", "Der Schlüssel liegt rechts neben der Tür."),
    ("Meine Tochter isst immer Fleisch.", "Meine Tochter isst nie Fleisch."),
    ("Die Probe beginnt um 18 Uhr im Saal.", "Die Probe beginnt um 19 Uhr im Saal."),
    ("La reunión empieza el lunes a las diez.", "La reunión empieza el martes a las diez."),
    ("El perro puede subir al sofá.", "El perro no puede subir al sofá."),
    ("Mi abuela toma dos gotas al día.", "Mi abuela toma doce gotas al día."),
    ("他早上跑步。", "他晚上跑步。"),
    ("我不喜欢吃香菜。", "我喜欢吃香菜。"),
    ("爸爸的血压很高。", "爸爸的血压很低。"),
    ("快递在三月五日送到。", "快递在三月九日送到。"),
]

ALIKE = [  # pairs that say the same in nearly the same words
    (
        "The spare key is in the left drawer of the hall cupboard.",
        "The spare key is in the left drawer of hall cupboard.",
    ),
    ("The team meeting is on Tuesday at nine in room four.", "The team meeting is on Tuesday, at nine, in room four."),
    ("He can't eat gluten since the last blood test.", "He cannot eat gluten since the last blood test."),
    ("Her office is above the bakery on Main Street.", "Her office is above the bakery on the Main Street."),
    ("The user prefers window seats on long flights.", "User prefers window seats on long flights."),
    ("I'm learning to play the cello.", "I am learning to play the cello."),
    ("The invoice was paid in January 2024.", "The invoice was paid in  January 2024."),
    ("Grandma sleeps with the light on.", "Grandma sleeps with a light on."),
    ("I didn't finish the course on knots.", "I did not finish the course on knots."),
    ("The user wants short answers in English.", "The user wants short answers, in English."),
    ("The rent is due on the first of every month.", "Rent is due on the first of every month."),
    ("My daughter needs 40 units of insulin at lunch.", "My daughter needs 40 units of insulin at the lunch."),
    ("La reunión empieza el lunes a las diez.", "La reunion empieza el lunes a las diez."),
]

TENSES = [("I worked at the bakery.", "I work at the bakery."), ("The library was open.", "The library is open.")]

ONE_FACT = [  # pairs of pages that stay two, and of facts that are one
    ("Ann works at Google.", "Ann works for Google."),
    ("The dentist moved the appointment to 3 March.", "The dentist has moved the appointment to 3 March."),
    ("My aunt has been a nurse in Oslo.", "My aunt is a nurse in Oslo."),
    ("My sister is a nurse at home.", "My sister has a nurse at home."),
    ("The house in Bonn is being sold to Tom.", "The house in Bonn is sold to Tom."),
    ("我和妈妈住在上海。", "我妈妈住在上海。"),
    ("我妈妈还在吃这种降压药。", "我妈妈吃了这种降压药。"),
]


@pytest.mark.parametrize(("one", "other"), APART + TENSES + ONE_FACT + TURNED)
def test_a_word_that_changes_what_is_said_keeps_two_pages_apart(one: str, other: str):
    assert not repeats(one, other)
    assert not repeats(other, one)


@pytest.mark.parametrize(("one", "other"), ALIKE + REPEATED)
def test_a_word_that_says_nothing_by_itself_may_be_missing(one: str, other: str):
    assert repeats(one, other)
    assert repeats(other, one)


@pytest.mark.parametrize(("one", "other"), ALIKE + ONE_FACT)
def test_facts_are_one_in_other_words_that_relate(one: str, other: str):
    assert says_the_same(one, other)
    assert says_the_same(other, one)
