"""Changes of job or home that take two clauses to tell, what did not change, and whom one joins."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoryos.operation.consolidation import chinese, chinese_parts, chinese_profile, english, english_profile
from memoryos.operation.knowledge.slot import filling

MONDAY = datetime(2024, 5, 6, tzinfo=UTC)


def facts(said: str) -> int:
    return len((chinese_parts if chinese.is_chinese(said) else english).statements(said))


def fields(said: str) -> dict[str, str]:
    read = chinese_profile if chinese.is_chinese(said) else english_profile
    return {claim.field: claim.value for claim in read.claims(said, MONDAY) if not claim.is_over}


def slot(said: str) -> tuple[str, str, str] | None:
    """Whose slot the statement fills, and with what; None if it fills none, or only says what is not so."""
    found = filling(said)
    return None if found is None or found.is_denied else (found.slot.holder, found.slot.relation, found.value)


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ("I changed jobs and now work as a nurse.", "occupation", "nurse"),
        ("I changed professions and am now a librarian.", "occupation", "librarian"),
        ("Last year I changed careers and became a carpenter.", "occupation", "carpenter"),
        ("I have changed my job and work as a driver now.", "occupation", "driver"),
        ("I left my job and now work as a barista.", "occupation", "barista"),
        ("We're in Oslo now, moved there last month.", "location", "Oslo"),
        ("I am in Leeds now; I moved there last year.", "location", "Leeds"),
        ("We're in Kyoto these days, having moved here in May.", "location", "Kyoto"),
        ("I'm in San Diego now - moved there a year ago.", "location", "San Diego"),
        ("We're in Poland now, relocated in 2023.", "location", "Poland"),
        ("我辞了职，现在当老师。", "occupation", "老师"),
        ("我去年转行，现在做程序员。", "occupation", "程序员"),
        ("我升了职，现在是经理。", "occupation", "经理"),
        ("我换了份工作，现在在医院当医生。", "occupation", "医生"),
        ("我现在在成都，上个月搬来的。", "location", "成都"),
        ("我们现在在深圳，去年搬过来的。", "location", "深圳"),
        ("我现在人在广州，刚搬到这里。", "location", "广州"),
        ("我在西安，从北京搬过来的。", "location", "西安"),
    ],
)
def test_a_change_and_what_holds_now(said: str, field: str, value: str) -> None:
    relation = {"location": "residence"}.get(field, field)
    assert (facts(said), fields(said), slot(said)) == (1, {field: value}, ("", relation, value.casefold()))


@pytest.mark.parametrize(
    "said",
    [
        "If I changed jobs and worked as a nurse, I'd earn less.",
        "My boss said I changed jobs and now work as a nurse.",
        "I dreamt I changed jobs and now work as a clown.",
        "I changed trains and now I'm late.",
        "We're in Oslo now, flying home on Sunday.",
        "I'm in Oslo now, my sister moved here last month.",
        "I'm in Paris now, moved my meetings to Friday.",
        "We're in Oslo now, but we never moved there.",
        "I'm in Marketing now, moved there last month.",
        "我想换工作，当护士。",
        "我现在在成都，下周回家。",
        "我现在在办公室，刚搬过来的。",
        "我现在在成都，我姐姐上个月搬来的。",
    ],
)
def test_no_change_of_job_or_home(said: str) -> None:
    assert (fields(said), slot(said)) == ({}, None)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("我没搬到北京。", ("", "residence", True)),
        ("用户未搬到上海。", ("", "residence", True)),
        ("小明没跳槽到腾讯。", ("小明", "employer", True)),
        ("我从没入职华为。", ("", "employer", True)),
        ("我没当老师。", ("", "occupation", True)),
        ("我没搬家，还住在上海。", ("", "residence", False)),
        ("用户没换工作，现在还是护士。", ("", "occupation", False)),
        ("I haven't moved, I still live in Oslo.", ("", "residence", False)),
        ("I haven't changed jobs, I still work at Acme.", ("", "employer", False)),
        ("I never moved to Bergen.", ("", "residence", True)),
        ("我没把车卖了。", None),
        ("我没养三只猫。", None),
        ("用户没有退休了。", None),
        ("我加入了读书会。", None),
        ("I haven't sold my car.", None),
        ("I haven't left my wife.", None),
        ("I never left Siemens.", None),
        ("I didn't start working as a nurse.", None),
    ],
)
def test_what_did_not_change_has_no_other_holder(said: str, told: tuple[str, str, bool] | None) -> None:
    found = filling(said)
    assert (found and (found.slot.holder, found.slot.relation, found.is_denied)) == told
    assert found is None or not found.is_change or found.is_denied


@pytest.mark.parametrize(
    ("joined", "is_employer"),
    [
        *((f"I joined {name}.", False) for name in ("Anna", "Maria", "Anna Schmidt", "Mrs. Lee", "Grandma", "Carlos")),
        *((f"I joined {name} last week.", False) for name in ("Yuki", "Dr. Singh", "David", "Uncle Bob")),
        *((f"I joined {name}.", True) for name in ("Bosch", "Ericsson", "JPMorgan", "Lloyds Bank", "SAP", "Nokia")),
        ("I joined Anna as an assistant.", True),
        *((f"我加入了{name}。", False) for name in ("张伟", "王老师", "玛丽", "他们", "篮球队", "家长群", "学生会")),
        *((f"我加入了{name}。", True) for name in ("字节跳动", "华为", "比亚迪", "微软", "小米")),
    ],
)
def test_whom_one_joins_is_no_employer(joined: str, *, is_employer: bool) -> None:
    found = filling(joined)
    assert (found is not None and found.slot.relation == "employer") == is_employer
