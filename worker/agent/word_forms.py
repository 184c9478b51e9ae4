"""Words as people write them: endings, slips of the pen, mixed alphabets (Russian and English)."""

import re
import unicodedata

from rapidfuzz.distance import OSA

# Words of a question, not of its subject. They count only when nothing else was asked.
COMMON = frozenset(
    """а без бы в вам вас во вы да для до есть еще же за и из или к как какая какие какой ко ли мне можно мой моя на
    надо не нет но о об от по под при про с сколько скольки со стоит стоить такой так у уже хочу хотим цена цену
    цены чем что это этот я меня вами ваш ваша ваши где когда кто
    a about an and any are at can cost costs could do does for from have how i in is it me much my of on or our price
    prices that the there this to us want we what when where which with would you your""".split()  # noqa: SIM905
)
_RUSSIAN_ENDINGS = frozenset(
    """иями ями ами иях ях ах иям ям ам ием ем ом ого его ому ему ыми ими ые ие ый ий ой ей ая яя ую юю ое ее ых их
        ым им ия ья ию ью ии ов ев а я о е у ю ы и ь й ться тся ть ете ите ешь ишь ует уют аем яем аете яете ает яет
        ают яют ите ет ит ут ют ат ят ал ял ил ел ала яла ила али яли или ели ло ла ли нию ния ние нии""".split()  # noqa: SIM905
)
_ENGLISH_ENDINGS = frozenset(("ings", "ing", "ies", "ied", "es", "ed", "s", "y", "e"))
_LONGEST_ENDING = max(map(len, _RUSSIAN_ENDINGS | _ENGLISH_ENDINGS))
_TRANSLITERATION = (
    ("shch", "щ"), ("sch", "щ"), ("yo", "е"), ("zh", "ж"), ("kh", "х"), ("ts", "ц"), ("ch", "ч"), ("sh", "ш"),
    ("yu", "ю"), ("ju", "ю"), ("ya", "я"), ("ja", "я"), ("ye", "е"), ("ck", "к"),
    *zip("abcdefghijklmnopqrstuvwxyz", "абцдефгхижклмнопкрстуввкыз", strict=True),
)  # fmt: skip
_LOOK_ALIKES = str.maketrans("aceopxyk", "асеорхук")


def words_of(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")
    return re.findall(r"\d+|[^\W\d_]+", "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Mn")))


def _is_latin(word: str) -> bool:
    return word.isascii() and word.isalpha()


def spellings(word: str) -> list[tuple[str, float]]:
    """The word itself, and what was meant where alphabets are mixed up, each with the trust it deserves."""
    if _is_latin(word):
        return [(word, 1.0), (_in_cyrillic(word), 0.8)]
    if any("а" <= c <= "я" for c in word) and any(c.isascii() and c.isalpha() for c in word):
        return [(word.translate(_LOOK_ALIKES), 1.0)]
    return [(word, 1.0)]


def _in_cyrillic(word: str) -> str:
    for latin, cyrillic in _TRANSLITERATION:
        word = word.replace(latin, cyrillic)
    return word


def stem_of(word: str) -> str:
    """The word without its ending; at least three letters stay."""
    endings = _ENGLISH_ENDINGS if _is_latin(word) else _RUSSIAN_ENDINGS
    if not _is_latin(word) and word.endswith(("ся", "сь")) and len(word) > 5:
        word = word[:-2]
    for size in range(min(_LONGEST_ENDING, len(word) - 3), 0, -1):
        if word[-size:] in endings:
            word = word[:-size]
            break
    if word.endswith(("очк", "ечк")) and len(word) > 5:
        return word[:-3] + "к"  # тарелочка is a тарелка
    return word


def grams(stem: str) -> set[str]:
    padded = f"^{stem}"
    return {padded[at : at + 3] for at in range(max(1, len(padded) - 2))}


def slips(stem: str) -> int:
    return 0 if len(stem) < 4 else 1 if len(stem) < 8 else 2


def likeness(asked: str, known: str) -> float:
    """From 0 to 1: one is the other's beginning, they share most of it, or a slip of the pen lies between.

    A slip is one letter changed, added, dropped or swapped with its neighbour (optimal string alignment).
    """
    if known.isdigit():
        return 0.0
    shorter, longer = sorted((asked, known), key=len)
    common = next((at for at, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if common == len(shorter) >= 3 and len(longer) - len(shorter) <= 3:
        return 0.85
    if common >= 5 and common >= 0.7 * len(longer):
        return 0.75
    allowed = slips(shorter)
    alike_at_all = asked[0] == known[0] or len(shorter) >= 6
    if allowed and alike_at_all and OSA.distance(asked, known, score_cutoff=allowed) <= allowed:
        return 0.7
    return 0.0
