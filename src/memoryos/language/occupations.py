"""Words for what people do for a living, in English and Chinese."""

from __future__ import annotations

from memoryos.language.words import HAN

_OCCUPATIONS = """
    accountant actor actress analyst animator architect artist author baker banker barber barista bartender
    biologist blogger broker builder bus_driver butcher carpenter cashier chef chemist coach composer consultant
    cook counselor counsellor curator dancer dentist designer detective developer dietitian director doctor driver
    economist editor electrician engineer entrepreneur farmer filmmaker firefighter florist gardener geologist
    graphic_designer hairdresser historian illustrator instructor interpreter investor janitor journalist judge
    lawyer attorney lecturer librarian lifeguard manager marketer mechanic midwife model musician novelist nurse
    nutritionist painter paralegal paramedic pastor pharmacist photographer physicist physiotherapist pianist pilot
    plumber podcaster poet policeman policewoman police_officer postdoc priest principal producer professor
    programmer psychiatrist psychologist realtor receptionist recruiter reporter researcher sailor salesman
    salesperson scientist screenwriter sculptor secretary singer social_worker soldier statistician stylist surgeon
    surveyor tailor teacher technician therapist translator trainer tutor veterinarian vet waiter waitress welder
    writer freelancer student nanny homemaker housewife bookkeeper veterinary_assistant teaching_assistant dev coder
    security_guard prison_guard caregiver carer cleaner courier handyman mason bricklayer roofer stonemason
    landscaper beekeeper paediatrician pediatrician optician clerk postal_worker factory_worker construction_worker
    care_worker warehouse_worker sysadmin admin planner supervisor foreman machinist toolmaker locksmith blacksmith
    jeweller jeweler watchmaker shoemaker dressmaker astronomer botanist zoologist chiropractor osteopath
    dermatologist cardiologist neurologist radiologist anaesthetist anesthetist oncologist vet_nurse sommelier
    trucker cabbie fisherman forester ranger sociologist linguist archaeologist anthropologist criminologist
    hydrologist meteorologist copywriter columnist publicist notary barrister solicitor magistrate diplomat
    politician mayor imam rabbi nun monk deacon vicar undertaker
"""
# Adjectives that make no occupation of what follows: "a great teacher", "a former nurse".
NO_OCCUPATION = (
    r"(?!(?:big|huge|good|great|bad|terrible|natural|fast|slow|better|real|excellent|decent|night|morning|former|ex"
    r"|aspiring|wannabe|would-be|failed|future|hobby|amateur|fake|fellow|professional|sort|kind|not)\b)"
)
OCCUPATIONS = frozenset(word.replace("_", " ") for word in _OCCUPATIONS.split())
CRAFT_WORKER = r"\w{3,}(?:ologist|ician|keeper|smith)"
_KNOWN = "|".join(sorted(OCCUPATIONS, key=lambda word: (-len(word), word)))

OCCUPATION = rf"(?:{_KNOWN}|{CRAFT_WORKER})"  # one that is known by its last word
JOB = rf"{NO_OCCUPATION}(?P<value>(?:[\w'-]+ ){{0,2}}?{OCCUPATION})"
_CHINESE_WORKERS = "水管|电|木|瓦|焊|钳|泥瓦|油漆|清洁|环卫|修理|维修|搬运|建筑|护|社|技"  # each with 工
CHINESE_OCCUPATION = (
    r"(?:工程师|老师|教师|医生|护士|学生|律师|设计师|程序员|会计|司机|厨师|记者|作家|画家|演员|歌手|经理|教授|研究员|翻译"
    r"|警察|摄影师|建筑师|咨询师|分析师|药剂师|美容师|理发师|销售员|公务员|研究生|博士生|自由职业者|插画师|快递员|服务员"
    r"|农民|工人|编辑|教练|面包师|调酒师|消防员|飞行员|外卖员|收银员|售货员|店员|保安|保姆|导游|木匠|铁匠"
    rf"|(?:{_CHINESE_WORKERS})工)"
)


def is_one(occupation: str, kind: str) -> bool:
    """Whether who has the one has the other: a maths teacher is a teacher."""
    has, asked = occupation.casefold(), kind.casefold()
    return bool(asked) and (has == asked or has.endswith(asked if HAN.search(asked) else f" {asked}"))
