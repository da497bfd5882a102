"""English requests: the orders and questions about memory that are worded in English."""

from __future__ import annotations

import re

from memoryos.language.calendar import MONTHS, WEEKDAYS
from memoryos.language.capitals import CAPITALS
from memoryos.operation.requests.memory_call import CallReach, MemoryOperation
from memoryos.operation.requests.request_rule import RequestLanguage, request_rules
from memoryos.operation.requests.stated_value import english_value
from memoryos.regex import regex

_OPENING = regex(
    r"\s*(?:(?:hey|hi|hello|ok|okay|so|now|also|and|then|but|well|oh|um|actually|btw|by the way|first|scratch that"
    r"|one more thing|thanks|let's|let us)\b[,!.:\s]*|(?:no|yes|yeah|sorry|oops|wait)[,!.:]+\s*)*",
    re.IGNORECASE,
)
_ASKING = regex(
    r"(?:(?:please|pls|plz|kindly)\b[,\s]*)?"
    r"(?P<asks>(?:can|could|would|will) (?:you|we)\s+)?(?:(?:I want|I need|I'd like|I would like|I'd love) you to\s+"
    r"|you (?:should|must|can|may|need to|have to)\s+(?!n)|go ahead and\s+"
    r"|(?:please )?make sure (?:that )?(?:you )?(?:to )?"
    r"|(?:please )?be sure to\s+)?(?:(?:please|just|kindly|also|now|maybe|always)\b[,\s]*)*",
    re.IGNORECASE,
)
_END = (
    r"(?:,?\s+(?:please|thanks|thank you|ok|okay|for me|right now|immediately|again|any ?more|from now on|forever"
    r"|for good|completely|entirely))*[\s.!?…]*\Z"
)
_CALM_END = (
    r"(?:,?\s+(?:please|thanks|thank you|now|for good|completely|entirely|again))*[\s.?]*\Z"  # "Forget the diet!"
)
_STRONG = r"(?:forget|unlearn)"
_OWN_STRONG = rf"(?<!let's )(?<!let us ){_STRONG}"  # "let's forget about the trip" is said of a plan
_WEAK = r"(?:delete|remove|erase|wipe(?: out)?|clear|purge|get rid of|drop|scrub|scrap|discard|expunge)"
_ANY = rf"(?:{_STRONG}|{_WEAK})"
_FROM_MEMORY = r"(?:\s+(?:from|in|out of) (?:your|my|the) (?:memor(?:y|ies)|records?|notes?|database|profile|history))?"
_TOLD = (
    r"(?:(?:just|ever|already|have|had|once)\s+)*(?:told|said|mentioned|shared|know|knew|remember|stored|saved"
    r"|learned|learnt|wrote|talked|discussed|gave|have)(?: (?:to|with))?(?: (?:you|me))?"
)
_WHAT = (
    r"(?:what|everything|anything|all|whatever|the (?:things?|facts?|stuff|details))(?: that)? "
    rf"(?:I|you|we)(?:'ve|'d)? {_TOLD}"
)
_OF = r"(?: about| on| regarding| concerning| of)"
_ABOUT = r"(?: about| regarding| concerning| of)"  # "said on Tuesday" names a time, and "on the train" a place
_TALKED = (
    r"(?:what|everything|anything|all|the things?)(?: that)? (?:I|we)(?:'ve|'d)? (?:(?:have|had|just)\s+)*"
    r"(?:talked|spoke|spoken|chatted)(?: (?:to|with) you)?"
)
_NOUNS = r"(?P<sort>notes?|facts?|messages?|entr(?:y|ies)|details?|information|info|data|records?)"
_SAID = r"(?P<sort>memor(?:y|ies)|notes?|facts?|messages?|conversations?|chats?)"
_AT = r"(?:from|before|after|since|between|until|till|prior to|in|on|at|during|over)"
_EVERY = r"(?:(?:all|any|every|the|my|your|those|these|old)(?: of)? )*"
_MEMORIES = (  # nobody else has memories; but a README has notes, and a table has data
    rf"{_EVERY}memor(?:y|ies)(?: (?:that )?you have)?{_OF}",
    rf"{_EVERY}{_NOUNS} (?:that )?(?:you have|you know|I gave you|stored|saved){_OF}",
    rf"(?:all|any|every|the)(?: (?:of )?(?:the|your|my))? {_NOUNS} about",
)
_ALL_ABOUT = r"(?:everything|anything|all(?: the stuff)?)(?: about| regarding| concerning| related to)"
_DAY = rf"(?:{'|'.join((*MONTHS, *WEEKDAYS))}|last|yesterday|\d+|\w+ \w+ ago)"
_ELSEWHERE = (
    rf"(?!.* (?:in|on|from) (?!{_DAY}\b))"  # where a topic may begin
    rf"(?:my|our|the|his|her|their|that|this|(?-i:[{CAPITALS}]))"
)
_THEN = rf"(?:{_AT}|yesterday|today|last|this)"
_TOPIC = r" (?P<topic>\S.*?)"
_NOT = r"(?:don't|do not|never|please don't)"
_KEEP = r"(?:remember|save|store|keep|record|memori[sz]e|note|log)(?: down)?"
_THIS = r"(?:this|that|it|any of this|these)(?: (?:message|one|part|bit|conversation|chat|sentence))?"
_MINE = r"(?:all (?:of )?)?my (?:memor(?:y|ies)|profile|data)"
_TO = r"(?P<to>\S.*?)"
_CONTENT = r"(?P<content>\S.*)"


def _chosen(verbs: str, more: str = "") -> tuple[str, ...]:
    """The ways to name memories by a topic behind these verbs; a pattern may have a group only once."""
    memory, known, noted = _MEMORIES
    return (
        rf"{verbs} {_TALKED} about(?P<when> {_THEN}\b.*?){more}",
        rf"{verbs} {_WHAT}(?P<when>(?: \S.*?)??){_ABOUT}{_TOPIC}{more}",
        rf"{verbs} {_WHAT}(?P<when>(?: \S.*?)?){more}",
        rf"{verbs} {memory}{_TOPIC}{more}",
        rf"{verbs} {known}{_TOPIC}{more}",
        rf"{verbs} {noted} (?P<topic>{_ELSEWHERE}.*?){more}",
        rf"{verbs} {_ALL_ABOUT} (?P<topic>{_ELSEWHERE}.*?){more}",
    )


_WHICH = r"(?:(?:old|new|former|current|home|work|private|personal) )?"
_SLOT = (  # what a profile has a place for, and no device or program
    r"(?:(?:(?:tele|mobile |cell ?)?phone|mobile) number|address|e-?mail address|birthday|birth date|date of birth|age"
    r"|name|nickname|occupation|employer|salary|weight|height|home ?town|blood (?:type|group)|(?:shoe|clothes) size"
    r"|allerg(?:y|ies)|religion|marital status|(?:(?:credit|debit|bank) )?(?:card )?PIN(?: (?:code|number))?"
    r"|(?:passport|(?:(?:credit|debit|bank) )?card|(?:bank )?account|social security|(?:health )?insurance|tax|ID"
    r"|licen[cs]e|membership|customer) number)"
)

_ME = r"(?:about me|on me|of me|about us)"
_FORGET_ME = (rf"{_OWN_STRONG} me",)
_FORGET_ALL = (
    (
        rf"{_STRONG}(?: about)? (?:absolutely )?(?:everything|all(?: of it)?|it all)"
        rf"(?: (?:that )?(?:you|we|I)(?:'ve)? {_TOLD})?(?: {_ME})?(?: so far| until now)?"
    ),
    (
        rf"{_WEAK} (?:absolutely )?(?:everything|all)(?: (?:that )?(?:you|we|I)(?:'ve)? {_TOLD}(?: (?:stored|saved))?)"
        rf"(?: {_ME})?(?: so far| until now)?{_FROM_MEMORY}"
    ),
    rf"{_WEAK} (?:everything|all(?: data| information)?) {_ME}{_FROM_MEMORY}",
    rf"{_ANY} all (?:of )?my (?:data|information){_FROM_MEMORY}",
    rf"{_ANY} (?:(?:all|every one)(?: of)? )?(?:(?:my|the|your) )?(?:(?:whole|entire) )?memor(?:y|ies)(?: {_ME})?",
    rf"(?:reset|empty) (?:my|your|the) (?:(?:whole|entire) )?memor(?:y|ies)(?: {_ME})?",
)
_FORGET_LAST = (
    rf"{_OWN_STRONG}(?: about)? (?:that|this)(?: one)?",
    rf"{_ANY} (?:what|everything) (?:I|we)(?:'ve| have)? just {_TOLD}",
    (
        rf"{_ANY} (?:my|the|that|our) (?:last|previous|latest) "
        rf"(?:message|thing|statement|sentence|remark|exchange|one|part)"
        rf"(?: (?:that )?(?:I|we) {_TOLD})?{_FROM_MEMORY}"
    ),
)
_FORGET_SESSION = (
    rf"{_ANY} (?:this|our|the current)(?: (?:whole|entire))? (?:conversation|chat|session|dialogue|talk){_FROM_MEMORY}",
)
_FORGET_TOPIC = (
    *_chosen(_ANY, _FROM_MEMORY),
    *_chosen(r"I(?:'d| would) rather you forgot"),
    rf"{_ANY} (?:everything|anything|all) (?P<topic>from (?:my|our) \S.*?)",
    rf"{_ANY} (?:everything|anything|all)(?: about me)? (?P<when>{_AT} \S.*?)(?:{_ABOUT}{_TOPIC})?",
    rf"{_ANY} (?:(?:all|every|any|the|my|our|your|of) )+{_SAID} (?P<when>{_THEN}\b.*?)(?:{_ABOUT}{_TOPIC})?",
    rf"{_ANY} (?:any|all|every) mentions? of (?P<topic>{_ELSEWHERE}.*?)",
    r"take (?P<thing>\S.*?) (?:out of|from) (?:your|my|the) (?:memor(?:y|ies)|records?|notes|database)",
    rf"{_WEAK} (?P<thing>\S.*?) (?:from|out of) (?:your|my|the) (?:memor(?:y|ies)|records?|notes|database)",
    rf"(?:I )?(?:don't|do not|no longer) want you to (?:remember|know|keep|store) (?!{_THIS}\b)(?P<thing>\S.*?)",
    rf"(?:{_NOT}|stop) (?:remember|keep|stor)(?:ing|e)? (?:anything|everything|what I {_TOLD}) about{_TOPIC}",
    r"(?:stop|quit) (?:remembering|memori[sz]ing)(?: that)? (?P<thing>(?:my|our|I|we)\b[^,]+?)",
    rf"{_OWN_STRONG} (?:the fact )?that (?P<thing>\S.*? .*?)",
    rf"{_OWN_STRONG} (?P<thing>(?:my|our) [^,]+?)(?:, I\b.*?)?",
    rf"(?:delete|erase) (?P<who>(?-i:[{CAPITALS}][^\W\d_{CAPITALS}]+))",
    rf"(?:delete|erase|remove|clear) (?P<thing>my (?:\w+'s )?{_WHICH}{_SLOT})",
    rf"{_WEAK} (?P<sort>my profile)",
    rf"{_OWN_STRONG} all about (?P<topic>[^,]+?)",
    rf"{_OWN_STRONG} about (?P<topic>(?:my|our|the|what)\b[^,]+?)",
)
_NO_TOPIC = (  # what people say of life and of the talk itself: "forget the past", "forget the last one"
    r"(?!.*\b(?:past|future|rest|matter|things?|stuff|ideas?|points?|plans?|questions?|jokes?|above|below|following"
    r"|previous|last|first|next|other|others|old|bad|instructions?|rules?|context|prompt|system|hype|haters?|noise"
    r"|world|odds|details?|numbers?|stress|fears?|pain|worr(?:y|ies)|rumou?rs?|critics|doubts?|consequences|money|cost"
    r"|price|time|clock|traffic|weather|rain|diet|deadline|usual|ways?|nonsense|drama|excuses|gossip|mistakes?"
    r"|failures?|pleasantries|formalities|small talk)\b)"
)
_CLAUSE = r"(?:and|or|but|so|because|for|when|if|who|that|you|he|she|they|it|is|are|was|were)"
_NAMED_THING = rf"the {_NO_TOPIC}[\w'-]+(?: (?!{_CLAUSE}\b)[\w'-]+){{0,4}}?"
_NO_NAME = r"(?!(?:it|me|you|him|her|us|them|that|this|what|everything|everyone|all|about|the|my|our)\b)"
_CAPITAL = rf"{_NO_NAME}(?-i:[{CAPITALS}])\w+(?: (?-i:[{CAPITALS}])\w+){{0,2}}"
_TOPIC_WORD = (  # a word of a noun that nothing introduces: no word for somebody or any thing, of time or of a sentence
    rf"(?!(?:{_CLAUSE}|I|me|we|us|him|her|hers|them|th(?:is|ese|ose)|mine|yours|ours|theirs|my|your|his|their|its|our"
    r"|\w{2,4}sel(?:f|ves)|(?:wh(?:at|ich|om?|en|ere)|how)(?:ever)?|wh(?:ose|y|ether)"
    r"|(?:any|some|no|every)(?:one|body|thing|where|how|time|what)?|none|else|ones?|an?|the|all|both|each|such"
    r"|said|says?|tells?|told|ask(?:s|ed)?|wrote|writes|like|until|till?|since|before|after|except|apart|unless"
    r"|without|than|as|just|not|never|do|does|did|be|being|been|can|could|will|would|should|must|might|have|has|had"
    r"|let|let's|\w{1,6}n't|then|now|later|soon|here|today|tonight|tomorrow|yesterday|again|also|too|really|maybe"
    r"|instead|lol|lmao|rofl|(?:ha|he){2,9}|xd|tbh|btw|fyi|idk|imo|ok|okay|please|thanks|thx)\b)"
    r"[^\W\d_][\w'-]*"
)
_FORGET_THIS = (
    rf"{_OWN_STRONG}(?: about)? (?P<thing>{_NAMED_THING}|{_CAPITAL})",
    rf"{_OWN_STRONG} {_ALL_ABOUT} (?P<topic>{_NO_NAME}{_NO_TOPIC}{_TOPIC_WORD}(?: {_TOPIC_WORD}){{0,2}}?)",
)
_REMEMBER = (
    rf"(?:keep|bear) in mind[:,]? {_CONTENT}",
    rf"(?:write|note|jot|put|take) (?:this|that|the following) down(?::|,| ?-) ?{_CONTENT}",
    rf"remember(?: (?:that|this|the following))?[:,]? (?!(?:when|how|what|who|where|why|to|me)\b){_CONTENT}",
    rf"remember(?: (?:this|the following))?: ?{_CONTENT}",
    (
        rf"(?:note|record|memori[sz]e|keep in mind|bear in mind|write down|jot down)(?: down)?"
        rf"(?: that|: ?|,? the following:) ?{_CONTENT}"
    ),
    rf"(?:make|take|keep) a note(?: that|: ?| of the following:) ?{_CONTENT}",
    rf"(?:save|store|record|memori[sz]e|note)(?: down)? (?:this|that|the following|the fact that)(?::|,)? ?{_CONTENT}",
    rf"{_NOT} forget(?: that|: ?| this: ?) ?{_CONTENT}",
    (
        rf"{_NOT} forget (?!(?:to|about|where|how|who|what|when|why)\b)"
        rf"(?!(?:everything|anything|all|any of|what|that|this|it)\b)(?!(?:me|us|him|her|them)\W*\Z){_CONTENT}"
    ),
    rf"(?:note|memo) to (?:self|myself)(?::|,| ?[-–—]) ?{_CONTENT}",
    rf"just so you remember[:,]? {_CONTENT}",
    rf"add (?:to|in) (?:your|my|the) (?:memory|notes|records)(?: that|: ?) ?{_CONTENT}",
    rf"for (?:future reference|the record|your memory)[:,] ?{_CONTENT}",
)
_UPDATE = (
    rf"(?:(?:small|quick|minor|one|short) )?(?:update|correction|edit|amendment)(?:: ?| - | – |, ){_CONTENT}",
    rf"(?:please )?correct (?:that|this|yourself|your memory|your notes)(?:: ?|, ){_CONTENT}",
    (
        rf"update (?:your (?:memory|notes|records|knowledge)|what you know(?: about [^:,]+)?|that|my [^:,]{{1,40}})"
        rf"(?:: ?|, | to say that | that ){_CONTENT}"
    ),
    rf"(?:change|correct) what you (?:know|remember)(?: about [^:,]+)?(?:: ?|, ){_CONTENT}",
    r"(?:change|set|update|replace|correct) (?P<field>(?:my|our) [^,:]{1,60}?) (?:to|with|into|as) (?P<value>\S.*?)",
)
_SKIP = (
    rf"{_NOT} {_KEEP} (?:{_THIS}|the following|what I(?:'m| am) (?:about|going) to \w+(?: you)?)(?:[:,] .*)?",
    r"(?:this is |that was |strictly )?off the record(?:[:,] .*)?",
    r"keep (?:this|that|it) (?:out of (?:your|the) memor(?:y|ies)|off the record)(?:[:,] .*)?",
    rf"(?:you )?(?:don't|do not) (?:need|have) to {_KEEP} {_THIS}(?:[:,] .*)?",
    rf"no need to {_KEEP} {_THIS}(?:[:,] .*)?",
)
_SHARE = (
    rf"share {_MINE}(?: (?:about|of){_TOPIC})? with {_TO}",
    rf"share (?:what|everything|all)(?: that)? you (?:know|have|remember)(?: about me)?(?: about{_TOPIC})? with {_TO}",
    rf"share what I {_TOLD}(?: about{_TOPIC})? with {_TO}",
    rf"(?:let|allow) {_TO} (?:to )?(?:read|see|access|view|search|use) {_MINE}",
    rf"(?:give|grant) {_TO} (?:read(?:ing)? )?access to {_MINE}",
)
_UNSHARE = (
    rf"(?:stop|quit|end) sharing (?:{_MINE}|everything|anything|what you know) with {_TO}",
    rf"(?:stop|quit|end) sharing with {_TO}",
    rf"unshare (?:{_MINE}|everything|anything|what you know) (?:with|from) {_TO}",
    rf"(?:revoke|withdraw|remove|end|cancel) {_TO}'s? (?:access|rights?|permission)(?: to {_MINE})?",
    rf"(?:{_NOT}|no longer) share (?:{_MINE}|anything|everything) with {_TO}",
)
_SO_FAR = r"(?: so far| by now| already| now)?"
_PROFILE = (
    rf"what (?:do|did|have|else do) you (?:know|learn(?:ed|t)?|remember|stored?|have)(?: stored)? {_ME}{_SO_FAR}",
    rf"what have you (?:got )?(?:stored|saved|noted|got) {_ME}",
    rf"(?:tell|show|give) (?:me )?(?:everything|what|all)(?: that)? you (?:know|remember|have)(?: \w+)? {_ME}",
    rf"(?:summari[sz]e|list|describe) (?:what|everything|all)(?: that)? you (?:know|remember|have)(?: \w+)? {_ME}",
    r"who am I|describe me|tell me about (?:me|myself)",
    r"(?:show|tell|give|read)(?: me)? my profile|what(?:'s| is) in my profile",
)
_LOOKUP = (
    r"(?:tell|show|give) me (?P<topic>(?:again )?(?:what|where|when|who|how|which|everything|all|whatever)\b.*?)",
    r"remind me (?P<topic>(?:again )?(?:what|where|when|who|how|which|why|of|about)\b.*?)",
    r"(?:search|look|check)(?: (?:in|through))? (?:my|your|the) (?:memor(?:y|ies)|notes|records) for (?P<topic>.*?)",
    r"(?:summari[sz]e|sum up|recap) (?P<topic>(?:what|everything|all|the things)(?: that)? (?:I|we|you)\b.*?)",
    r"(?:recall|find|look up|list) (?P<topic>(?:what|where|when|who|how|everything|all|the|my)\b.*?)",
    r"remember (?P<topic>(?:when|how|what|who|where|why)\b.*?)",
)
_ASKS = regex(
    r"\A(?:what|who|whom|whose|where|when|which|how|why|did|do|does|is|are|was|were|have|has|had|am)\b|\?\s*\Z",
    re.IGNORECASE,
)
_IS_ASKED = regex(r"\?\s*\Z")
_TELLS = regex(r"(?:can|could|would|will) (?:you|we|I)\b", re.IGNORECASE)  # a task
_TELLING = regex(
    r"\b(?:I|we|you|he|she|they)(?:'ve| have| had)? (?:\w+ )?(?:say|said|tell|told|talk|talked|mention|mentioned"
    r"|discuss|discussed|write|wrote|decided?|shared?)\b",
    re.IGNORECASE,
)
_OP = MemoryOperation

_OWN_END = r"[\s?]*\Z"  # of what is stored as it is worded
_ORDERS = (
    *request_rules(_OP.SKIP, _SKIP, _END),
    *request_rules(_OP.FORGET, _FORGET_ALL, _END, CallReach.ALL),
    *request_rules(_OP.FORGET, _FORGET_LAST, _END, CallReach.LAST),
    *request_rules(_OP.FORGET, _FORGET_SESSION, _END, CallReach.SESSION),
    *request_rules(_OP.FORGET, _FORGET_TOPIC, _END),
    *request_rules(_OP.FORGET, _FORGET_ME, _CALM_END, CallReach.ALL, is_alone=True),
    *request_rules(_OP.FORGET, _FORGET_THIS, _CALM_END, is_alone=True),
    *request_rules(_OP.UNSHARE, _UNSHARE, _END),
    *request_rules(_OP.SHARE, _SHARE, _END),
    *request_rules(_OP.THAW, _chosen(r"(?:unfreeze|thaw|unlock|unprotect|unpin)"), _END),
    *request_rules(_OP.FREEZE, _chosen(r"(?:freeze|lock|protect|pin)"), _END),
    *request_rules(_OP.UPDATE, _UPDATE, _OWN_END),
    *request_rules(_OP.REMEMBER, _REMEMBER, _OWN_END),
)

ENGLISH_REQUESTS = RequestLanguage(
    _OPENING,
    _ASKING,
    _ASKS,
    _IS_ASKED,
    _TELLS,
    _TELLING,
    _ORDERS,
    (*request_rules(_OP.PROFILE, _PROFILE, _END), *request_rules(_OP.RECALL, _LOOKUP, _END)),
    english_value,
)
