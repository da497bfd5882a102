"""Places in English that people write without capitals: "i live in oslo"."""

from __future__ import annotations

import re

from memoryos.regex import regex

_COUNTRIES = """
    afghanistan albania algeria argentina armenia australia austria bangladesh belgium bolivia bosnia brazil bulgaria
    cambodia cameroon canada chile china colombia croatia cuba cyprus denmark ecuador egypt england estonia ethiopia
    finland france germany ghana greece guatemala honduras hungary iceland india indonesia iran iraq ireland israel
    italy jamaica japan jordan kazakhstan kenya korea kosovo latvia lebanon libya lithuania luxembourg malaysia malta
    mexico moldova mongolia montenegro morocco nepal netherlands nicaragua nigeria norway pakistan panama paraguay peru
    philippines poland portugal qatar romania russia scotland senegal serbia singapore slovakia slovenia somalia spain
    sudan sweden switzerland syria taiwan tanzania thailand tunisia turkey uganda ukraine uruguay venezuela vietnam
    wales zambia zimbabwe england california texas florida oregon ohio michigan virginia arizona colorado bavaria
    alabama alaska alberta andalusia andorra angola arkansas assam azerbaijan bahamas bahrain barbados belarus
    belize benin bhutan bihar botswana brittany brunei burundi catalonia comoros congo connecticut delaware
    djibouti dominica eritrea fiji gabon gambia goa guangdong guinea gujarat guyana haiti hawaii hunan idaho
    illinois indiana iowa kansas karnataka kentucky kerala kuwait kyrgyzstan laos lesotho liberia liechtenstein
    louisiana madagascar maharashtra maine malawi maldives mali manitoba maryland massachusetts mauritania
    mauritius minnesota mississippi missouri monaco montana mozambique myanmar namibia nebraska nevada niger
    normandy odisha oklahoma oman ontario palestine pennsylvania punjab queensland rajasthan rwanda samoa sardinia
    saskatchewan sichuan sicily silesia somaliland suriname swaziland tajikistan tasmania tennessee togo tonga
    trinidad turkmenistan tuscany utah uzbekistan vermont wisconsin wyoming yemen yunnan
"""
_CITIES = """
    aarhus accra adelaide amsterdam ankara antwerp athens atlanta auckland austin baltimore bangalore bangkok barcelona
    basel beijing belfast belgrade bergen berlin bern bilbao birmingham bogota bologna bordeaux boston bratislava
    bremen brisbane bristol brno brooklyn bruges brussels bucharest budapest cairo calgary cambridge cardiff chennai
    chicago cleveland cologne copenhagen cork cracow dakar dallas delhi denver detroit dhaka dortmund dresden dubai
    dublin dundee durban dusseldorf edinburgh eindhoven florence frankfurt galway gdansk geneva genoa ghent glasgow
    gothenburg granada graz groningen hamburg hanoi hanover havana heidelberg helsinki houston hyderabad innsbruck
    istanbul jakarta jerusalem johannesburg kampala karachi kathmandu kiev krakow kyiv kyoto lagos lahore lausanne
    leeds leicester leiden leipzig lille lima limerick linz lisbon liverpool ljubljana lodz london lyon madrid malaga
    malmo malmö manchester manila marseille melbourne miami milan milwaukee minneapolis montreal moscow mumbai munich
    nairobi nantes naples newcastle nottingham nuremberg osaka oslo ottawa oxford palermo paris perth philadelphia
    phoenix pittsburgh plymouth porto portland poznan prague quito reykjavik riga rome rotterdam salzburg santiago
    sarajevo seattle seoul seville shanghai sheffield shenzhen sofia southampton stavanger stockholm strasbourg
    stuttgart swansea sydney taipei tallinn tampere tehran tokyo toronto toulouse trieste trondheim tunis turin turku
    uppsala utrecht valencia vancouver venice verona vienna vilnius warsaw wellington wroclaw york zagreb zurich
    aachen aberdeen abidjan abuja adana agra ahmedabad albuquerque alexandria algiers alicante aligarh almaty amman
    amritsar anchorage angers antalya antananarivo arequipa asmara astana asuncion augsburg aurangabad baghdad baku
    bamako bandung bangui barranquilla beirut bengaluru benghazi bhopal bhubaneswar bishkek blantyre bochum boise
    bonn boulder bournemouth braga brasilia brazzaville breslau bucaramanga bujumbura bulawayo bursa busan
    bydgoszcz cagliari calcutta cali caracas cartagena casablanca catania cebu chandigarh changsha chengdu chisinau
    chittagong chongqing cincinnati cluj coimbatore coimbra colombo conakry constanta cordoba cotonou coventry
    curitiba cusco daegu dalian damascus davao debrecen dehradun dharamshala doha donetsk douala dushanbe edmonton
    enugu exeter faisalabad fez fortaleza foshan freetown freiburg fresno fukuoka fuzhou gaborone gaziantep
    ghaziabad gijon giza goiania guadalajara guangzhou guayaquil guiyang gurgaon gurugram guwahati haarlem haifa
    halifax hangzhou harare harbin hefei hiroshima honolulu hubli iasi ibadan incheon indianapolis indore islamabad
    izmir jaipur jalandhar jamshedpur jeddah jodhpur juarez kabul kaduna kaliningrad kano kanpur karlsruhe kassel
    katowice kazan kharkiv khartoum kherson kigali kinshasa kobe kochi kolkata kosice kumasi kunming lanzhou
    larnaca leuven libreville lilongwe lome louisville luanda lublin lucknow ludhiana lusaka lviv maastricht
    madurai mainz makassar managua manama manaus mangalore mannheim maputo maracaibo marrakech marrakesh maseru
    mashhad mecca medan medellin medina meerut memphis merida minsk mogadishu mombasa monrovia monterrey montevideo
    montpellier multan murcia murmansk mysore mysuru nagoya nagpur nanjing nanning nashik nashville ndjamena niamey
    nicosia ningbo noida nouakchott novosibirsk oakland oaxaca odesa odessa olomouc omaha oporto orlando ostrava
    ouagadougou oulu palembang parma patna patras penang perugia peshawar plovdiv podgorica poltava pondicherry
    potsdam pretoria pristina puebla pune pyongyang qingdao quetta rabat raipur rajkot ranchi rawalpindi recife
    rennes rijeka riyadh rostock sacramento saigon salvador samara sapporo saratov saskatoon semarang sendai
    shenyang shiraz skopje soweto spokane srinagar surabaya surat suzhou szczecin szeged tabriz taichung tainan
    taiyuan tallahassee tampa tartu tashkent tbilisi tegucigalpa thane thessaloniki thiruvananthapuram tianjin
    tijuana timisoara tirana toluca tripoli trivandrum tromso tucson tulsa udaipur ulaanbaatar ulm urumqi vadodara
    valparaiso varanasi varna vientiane vigo vijayawada visakhapatnam vizag volgograd windhoek winnipeg
    wolverhampton wuhan wuppertal wuxi xiamen xian yangon yaounde yekaterinburg yerevan yokohama zanzibar
    zaporizhzhia zaragoza zhengzhou
"""
_FIRST_WORDS = (
    "new|los|las|san|santa|saint|st|sao|rio|cape|tel|hong|kuala|buenos|south|north|east|west|sri|costa|puerto|el|fort"
    "|mexico|quebec|saudi|salt lake|addis|phnom|ho chi minh|the"
)
_KNOWN = frozenset(f"{_COUNTRIES} {_CITIES}".split())
# A place in small letters, with what must come behind it.
LOWER_PLACE = (
    rf"(?P<low>(?:(?:{_FIRST_WORDS}) )?[a-zäöüéèñøåæ]{{3,}})"
    r"(?=\s*(?:[.,;:!)(]|$|[^\w\s!-~])|\ (?:and|n|but|with|now|for|since|btw|lol|rn|atm|so|these|at|near|too|where"
    r"|which|then|though|tho|anymore|any|last|this|in|from|until|because|cause|I|Im|Ive|my|we)\b)"
)
# What people live in, or move to, besides places.
_NO_PLACES = frozenset(
    """
    fear hope peace poverty denial hell heaven sin comfort luxury pain debt town dorms dorm halls student housing
    harmony chaos squalor darkness doubt constant shame exile isolation solitude silence style secret boxes tents
    trailers tears linux windows mac android python rust react management sales marketing remote work bed pyjamas
    pajamas jeans sweatpants leggings hoodies it this that there here them him her these those uni college school the
    and one two three many some another different similar nature suburbia suburbs countryside mountains woods forest
    city village apartment house flat van car tent campus barracks quarantine lockdown terror misery bliss hotels
    hostels airbnbs reality theory practice general real moments memories dreams mind hearts sync parallel limbo
    captivity freedom paradise """.split()
)

_KNOWN_PLACE = regex(rf"(?:(?:{_FIRST_WORDS}) )?(?P<known>\w+)(?:, [A-Za-z]\w+)?", re.IGNORECASE)


def is_known_place(name: str) -> bool:
    """Whether it is a place that is known, with or without its country."""
    found = _KNOWN_PLACE.fullmatch(name)
    return found is not None and found["known"].lower() in _KNOWN


def place(match: re.Match[str], *, is_known: bool = False) -> str:
    """The place that was found, capitals and all; empty when it is none, or when only those we know count."""
    found = match.groupdict().get("low")
    if found is None:
        return match["value"]
    words = found.split()
    is_one = words[-1] not in _NO_PLACES and words[0] != "the" and (len(words) > 1 or not is_known)
    return " ".join(map(str.capitalize, words)) if is_one or words[-1] in _KNOWN else ""
