"""Function words of languages beside English and Chinese, and which language a text is in."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from memoryos.language.stopwords import ENGLISH
from memoryos.regex import regex
from memoryos.text_cache import text_cache

_GERMAN = """
    aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da
    dabei dadurch damit dann das dass dein deine deinem deinen deiner dem den denn der deren des dessen dich die
    dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er erst es
    etwas euch euer für ganz gar gegen gerade gern haben habe habt hast hat hatte hatten hier hin ich ihm ihn
    ihnen ihr ihre ihrem ihren ihrer im immer in ins ist ja jede jedem jeden jeder jetzt kann kannst kein keine
    keinem keinen keiner können könnte man mein meine meinem meinen meiner mich mir mit muss musste nach nicht
    nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit selbst sich sie sind so
    sobald soll sollte sondern über um und uns unser unsere unserem unseren unter viel vom von vor wann war
    waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde werden wessen weshalb wie
    wieder will wir wird wo wobei woher wohin womit wovon worüber wurde wurden würde zu zum zur zwischen
"""
_SPANISH = """
    a al algo alguien algún alguna algunas alguno algunos ante antes aquel aquella así aunque cada como cómo con
    cual cuál cuáles cualquier cuando cuándo cuánto cuántos cuántas de del desde donde dónde dos e el él ella
    ellas ellos en entonces entre era eran eres es esa esas ese eso esos esta está están estaba estado estamos
    estar estas estás este esto estos estoy fue fueron ha había habían han has hasta hay he hemos hola la las le
    les lo los más me mi mis mí muy nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otras
    otro otros para pero poco por porque pues que qué quien quién quiénes se sea ser será si sí sido siempre sin
    sino sobre soy son su sus también tan tanto te tener tengo ti tiene tienen tienes todo todos toda todas tu
    tú tus un una unas uno unos usted va vez voy y ya yo
"""
_FRENCH = """
    à ai ainsi alors après as au aucun aussi autre autres aux avais avait avant avec avez avoir avons c car ce
    cela ces cet cette ceux chaque chez comme d dans de depuis des deux dont du elle elles en encore
    entre es est et étaient étais était étant été être eu eux fait faire faut ici il ils j je jusque l la là
    laquelle le lequel les lesquelles leur leurs lors lui m ma mais me même mes moi moins mon n ne ni non nos
    notre nous on ont ou où par parce pas pendant peu peut peux plus pour pourquoi près presque puis qu quand
    que quel quelle quelles quels qui quoi s sa sans se sera ses si sien soi sois soit sommes son sont sous suis
    sur t ta tandis te tes toi ton tous tout toute toutes très tu un une va vais vers veut veux voici voilà vos
    votre vous y
"""
_ITALIAN = """
    a ad agli ai al alla alle allo anche ancora avere aveva avevo c che chi ci ciò come con cosa così cui d da
    dagli dai dal dalla dalle dallo degli dei del della delle dello di dopo dove due e è ed era erano ero essere
    fa fare fino fra già gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mentre mi mia mie miei
    mio molto ne negli nei nel nella nelle nello no noi non nostra nostro o ogni per perché però più poi prima
    qua qual quale quali quando quanto quanti quella quelle quelli quello questa queste questi questo qui quindi
    sarà se sei si sì sia siamo siete sono sta stato stata su sua sue sugli sui sul sulla sulle suo suoi te ti
    tra tu tua tuo tuoi tutti tutto tutta un una uno va vi voi
"""
_PORTUGUESE = """
    a à ao aos aquela aquele aqui as às até cada com como da das de dela dele deles depois do dos dois e é ela
    elas ele eles em entre era eram essa essas esse esses esta está estamos estão estar estas estava este estes
    estou eu foi foram fui há isso isto já lá lhe mais mas me mesmo meu meus mim minha minhas muito na nas não
    nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos pois por porque porquê pra qual
    quais quando quanto quantos que quê quem se seja sem ser será seu seus só sobre somos sou sua suas também te
    tem têm tenho ter teu tinha tu tua tudo um uma umas uns vai você vocês vou
"""
_DUTCH = """
    aan al alle als altijd andere ben bij daar dan dat de deze die dit doen door dus een en er ge geen had heb
    hebben heeft hem het hier hij hoe hun iets ik in is ja je jij jou jouw kan kon kunnen maar me meer men met
    mij mijn moet na naar niet niets nog nu of om omdat onder ons onze ook op over reeds te tegen toch toen tot
    u uit uw van veel voor waar waarom want waren was wat we welk welke werd wie wij wil worden wordt zal ze zei
    zelf zich zij zijn zo zonder zou
"""
_RUSSIAN = """
    а без бы был была были было быть в вам вас весь во вот все всё всего всех вы где да даже для до его ее её
    если есть ещё еще же за здесь и из или им их к как какая какие какого какое какой какую когда кого кому кто
    куда ли либо мне много мой моя моё мое моего моей моему моём моих мои мою может можно мы на над надо наш
    наша наше наши не него нее неё нет ни них но ну о об один она они оно от очень по под почему после потому
    при про раз с сам свой свою своего своей себе себя сейчас со так также такой там те тебе тебя тем теперь то
    тогда того тоже только том тот ты у уже хотя чего чей чём чем что чтобы эта эти это этого этой этом этот эту
    я
"""
_ARABIC = """
    في من على إلى الى عن مع أن ان إن لا ما ماذا متى أين اين كيف لماذا لم لن هل هو هي هم هن هذا هذه ذلك تلك التي
    الذي الذين كان كانت كنت يكون تكون قد لقد كل بعد قبل عند عندي عندما لدي لدى أو او ثم أي اي أنا انا نحن أنت
    انت بين حتى إذا اذا لو لكن لكنه و ف ب ك ل له لها لهم لي به بها بهم فيه فيها منه منها عليه عليها إليه إليها
    غير أيضا ايضا جدا مثل منذ هناك هنا كما لأن لان لأنه لأنها لأنني وقد وهو وهي وفي ومن عم مما لمن بماذا كم ألا
    إلا ليس ليست أكون سوف كلما
"""
_JAPANESE = """
    私 僕 君 彼 何 誰 今 人 方 事 時 者 等 的 様 達 私の 何で 今の 人は 何が 何を 何に 何の 何曜 方が
    です ます まし ませ せん した して てい いる いま まれ れる られ する こと もの から ので
    のに には では とは でも また そう この その あの どの これ それ あれ どれ ここ そこ どこ
    ある あり ない なか って った いて れて たが すか ますか でし たで すね よう ため なる なり
    なっ なに どん んな など まで より だけ ほど たり たい いと てき きま りま みま しま いた
    ったの のは のが のを のも にな とい いう うち をし たち がい いで でいる ばか かり りで くて
    くだ ださ さい
"""

Words = frozenset[str]

FOREIGN: Final[Mapping[str, Words]] = {
    code: frozenset(text.split())
    for code, text in {
        "de": _GERMAN,
        "es": _SPANISH,
        "fr": _FRENCH,
        "it": _ITALIAN,
        "pt": _PORTUGUESE,
        "nl": _DUTCH,
        "ru": _RUSSIAN,
        "ar": _ARABIC,
        "ja": _JAPANESE,
    }.items()
}  #: function words by language

_ALSO_ENGLISH = (  # words or names in English, too: they tell little
    frozenset(
        """
        a ad ai al allen am an ante as at be ben bin c car chose come con d da dan data de del den der
        des die dir do door dos du due e ed el en era et fait fare fin ge had has hat hay he hem her hier hut
        i im in ins is it j l la las le les li lo los m ma mai man me men met mi mia mine mit moi mon most n
        nach ne ni no non nun o om on or os over pa par pas per plus pour pro rest s sans se sea sei sera si sin
        so sole son sons soy sue sun sur t tan te ten to toch toll ton tu u um un una under une use van vers vez
        via video voir von voor vos war was we wie will y ya yo
        """.split()
    )
    | ENGLISH
)
_LATIN: Final = ("de", "es", "fr", "it", "pt", "nl")
_TELLING: Final = {code: FOREIGN[code] - _ALSO_ENGLISH for code in _LATIN}
_ENGLISH_ONLY: Final = {code: ENGLISH - FOREIGN[code] for code in _LATIN}
_ANY_LATIN: Final = frozenset[str]().union(*(FOREIGN[code] for code in _LATIN))
_ANY_TELLING: Final = frozenset[str]().union(*_TELLING.values())
_WORD = regex(r"[^\W\d_]+")
_ASCII_LETTERS = bytes(ord(chr(one).lower()) if one < 128 and chr(one).isalpha() else ord(" ") for one in range(256))
_ENOUGH: Final = 2  # a telling word, or two that English has, too
_SCRIPTS: Final = (
    ("ja", regex("[\u3041-\u3096\u30a1-\u30fa]")),
    ("zh", regex("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("ru", regex("[\u0400-\u052f]")),
    ("ar", regex("[\u0600-\u06ff]")),
)


def language_of(text: str) -> str:
    """The code of the language that a text seems to be in; `en` when nothing speaks for another.

    Scripts decide first, then `latin_language`.
    """
    if not text.isascii():
        for code, letters in _SCRIPTS:
            if letters.search(text):
                return code
    return latin_language(text)


def latin_language(text: str) -> str:
    """The language of the words in Latin letters, by their function words and accents; `en` unless another is ahead.

    A word that English has, too, counts half, and not for English where the other language has it.
    """
    return _remembered(text) if len(text) <= _SHORT else _latin_language(text)


def _latin_language(text: str) -> str:
    if text.isascii():  # the same, several times faster
        found = set(text.encode().translate(_ASCII_LETTERS).decode().split())
        if found.isdisjoint(_ANY_TELLING):
            return "en"
    else:
        found = set(_WORD.findall(text.lower()))
    accented = 0 if text.isascii() else sum(not word.isascii() and word[0] < "\u0250" for word in found)
    foreign = found & _ANY_LATIN  # few, so that the languages are compared quickly
    scores = {code: accented + len(foreign & FOREIGN[code]) + len(foreign & _TELLING[code]) for code in _LATIN}
    best = max(scores, key=scores.__getitem__)
    if scores[best] < _ENOUGH or scores[best] <= 2 * len(found & _ENGLISH_ONLY[best]):
        return "en"
    return best


_SHORT: Final = 1_000  # characters
_remembered = text_cache(1_024)(_latin_language)  # a text is embedded, then indexed: each asks


def function_words(text: str) -> Set[str]:
    """The function words of the language that a text is in, where it is neither English nor Chinese."""
    return FOREIGN.get(language_of(text), frozenset())
