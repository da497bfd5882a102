"""The vocabulary of the English rules, by what a word tells about a sentence."""

from __future__ import annotations

from collections.abc import Iterable


def _words(text: str) -> tuple[str, ...]:
    """Split a list of words; an underscore stands for the space within a phrase."""
    return tuple(word.replace("_", " ") for word in text.split())


def alternatives(words: Iterable[str]) -> str:
    """Write words as a regular expression for verbose mode, the longest first."""
    return "|".join(word.replace(" ", r"\ ") for word in sorted(words, key=len, reverse=True))


# Interjections before a statement: "Yeah, ...", "Thanks, Mel! ...".
LEADS = _words(
    """oh wow yeah yes yep yup no nope nah well so and but hey hi hello thanks thank_you sure absolutely totally
    definitely exactly actually honestly also plus haha lol ok okay aw aww cool great nice awesome right true anyway
    personally luckily fortunately unfortunately sadly by_the_way btw for_sure of_course in_fact to_be_honest as_for_me
    same_here me_too guess_what good_question basically literally omg ugh hmm hm idk tbh ngl fyi anyways welp yo sup
    hiya heya sooo soooo sorry correction update edit psa news ps intro quick_intro side_note"""
)
ADVERBS = _words(
    """really also just always usually often never still actually recently finally currently definitely mostly mainly
    sometimes even only absolutely totally especially already generally normally now once simply truly regularly rarely
    no_longer both typically primarily originally officially personally hardly first lately accidentally eventually"""
)
PREFERENCE_VERBS = _words("like love hate prefer enjoy dislike adore despise detest loathe")
# Present-tense verbs that state a habit, a skill or a circumstance.
HABIT_VERBS = _words(
    """work live study play teach run own speak volunteer attend paint write draw collect cook bake drive practice train
    coach sing dance swim hike jog cycle camp fish garden knit sew exercise meditate manage grow breed raise suffer eat
    drink smoke read watch listen go wake commute visit travel surf ski climb blog stream photograph foster rent share
    belong major specialize lead host organize compose perform rescue"""
)
# Past-tense verbs of events and deeds. Those of thought and feeling ("thought", "felt", "wanted") are left out.
PAST_VERBS = _words(
    """went visited attended joined started finished bought adopted moved met married graduated won lost made painted
    wrote read ran built signed took received donated volunteered traveled travelled flew drove hiked camped climbed
    completed published released recorded performed played organized hosted baked cooked planted quit resigned retired
    switched applied interviewed studied majored learned taught trained competed celebrated hired launched opened closed
    sold rented renovated repaired fixed broke injured sprained caught grew raised worked lived served spent stayed
    watched saw tried ordered booked registered enrolled submitted passed failed earned created designed developed
    coached mentored led founded saved planned scheduled decided gave brought picked stopped began rescued fostered
    proposed divorced separated relocated upgraded purchased found drew sewed knitted crafted carved composed presented
    hit fell reached participated ended hurt sang danced swam biked cycled toured explored discovered turned came_back
    got_back returned"""
)
PARTICIPLES = _words(
    """worked lived studied played taught run owned written painted drawn visited traveled travelled joined started
    finished completed published moved bought adopted quit stopped signed won lost read seen watched volunteered
    attended collected learned loved enjoyed hated known raised grown trained coached met made built saved enrolled
    applied decided become broken performed organized taken gone given"""
)
GERUNDS = _words(
    """working studying living learning taking training teaching planning preparing volunteering writing building
    running reading starting attending moving raising saving applying organizing pursuing majoring playing doing
    painting dating renting expecting recovering researching coaching hosting practicing collecting launching opening
    developing"""
)
# What may follow "my": people and pets ...
RELATIONS = _words(
    """sister brother mom mother mum dad father parents wife husband partner girlfriend boyfriend fiance fiancee
    fiancé fiancée son daughter kids kid children child baby twins grandma grandmother grandpa grandfather grandparents
    granddaughter grandson aunt uncle cousin cousins niece nephew friend friends roommate neighbor neighbour colleague
    boss coworker family dog dogs cat cats puppy kitten pup pet pets horse rabbit parrot hamster turtle turtles fish
    bird siblings ex gf bf hubby mam mums moms dads gran nan grandad granddad roomie flatmate housemate spouse sis bro
    stepmom stepdad stepson stepdaughter in-laws girl boy toddler newborn"""
)
# ... and the circumstances of a life.
CIRCUMSTANCES = _words(
    """house home apartment car job company business band team school university college major hometown birthday allergy
    doctor degree startup store shop studio salary commute office farm bike motorcycle blog channel podcast wedding
    anniversary shift schedule diagnosis condition dream goal hobby hobbies passion background roots bday divorce
    surgery exam interview graduation"""
)
# What is said in them is supposed, dreamt or put off, wherever in the sentence they stand.
SUPPOSITIONS = (
    r"unless|in (?:another|a past|my next|a previous) life|in (?:my|a) dreams?|in an? (?:ideal|perfect|parallel) \w+"
    r"|when I'm (?:rich|older|old|retired|famous|grown)|dream(?:t|ed)|one day I|someday|daydream\w*|fantasi[sz]\w+"
)
# Words that carry no content: a statement needs words that are none of these.
EMPTY_WORDS = frozenset(
    _words(
        """a an the i me my mine myself we us our it its it's that that's this these those them they he him her she
        there here what which who so very really too just also much many more most lot lots bit thing things stuff some
        something anything nothing everything someone everyone one ones time times way ways sure fine good great nice
        bad best better amazing awesome cool fun blast ok okay well hard ready back now then today yesterday tomorrow
        recently lately again always never ever still yet already soon before after of in on at to for from with by
        about and or but as is are was were be been being am do did does done have has had having will would can could
        not no yes all both any every each day week month year last next ago few while feel feeling feelings felt like
        love made make got get getting went go going come came up down out over off into through than because when how
        new old little big super pretty totally experience idea point question moment moments kind sort part change
        break look rest same different first such incredible wonderful special important wrong right happy sad excited
        glad proud grateful thankful lucky hope think start started keep tough rough crazy awhile plan plans trying try
        ton memories connections progress difference everybody else together fam guys later interesting strong whole
        skill hobby another bond team
        i'm im i've ive i'll we're we've we'll
        """
    )
)
# Ahead of the rest of "As a nurse, I ...": nobody else is said to have said it, and it is no play.
IN_EARNEST = (
    r"(?![^.!?]*\b(?:(?:once|he|she|they|my|your|always|friend|I \w+) (?:\w+ )?(?:said|says|told)|not one|n't one"
    r"|pretend\w*|[Hh]alloween|costume|cosplay"
    r"|in (?:an?|the|this|my|our) (?:\w+ )?(?:game|play|skit|sketch|dream|novel|movie|film|show|musical))\b)"
)
# Capitalised words after "I'm" that are no names; feelings are caught by their endings as well.
NOT_NAMES = frozenset(
    _words(
        """happy sad tired fine good great okay ok sorry sure ready here there back home in out done busy hungry thirsty
        sick lucky free single glad proud afraid alone late lost new old young vegan vegetarian gay bi trans jewish
        muslim christian catholic buddhist hindu atheist agnostic african asian american european australian canadian
        mexican italian indian german russian brazilian korean norwegian belgian austrian hungarian ukrainian egyptian
        nigerian french dutch greek swiss czech thai japanese chinese british english irish scottish welsh black white
        latino latina hispanic autistic monday tuesday wednesday thursday friday saturday sunday january february march
        april may june july august september october november december libra virgo leo aries taurus gemini cancer
        scorpio capricorn aquarius pisces sagittarius not so just very really what that this the a an me crazy mom dad
        asap tomorrow later today when if maybe sir ill well awake asleep down up team groot batman spartacus legend
        pro anti based"""
    )
)
