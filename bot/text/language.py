"""Which language a text is in, where that is beyond doubt; made to say "unsure" rather than to guess."""

import regex

from bot.text.alphabets import EAST_ASIAN, LETTER, count_kinds, scripts_in
from bot.text.keyed_patterns import KeyedPattern

# Below this many letters detectors guess.
_ENOUGH_LETTERS = 20
# A logograph says as much as a word.
_ENOUGH_LOGOGRAPHS = 6

_NOISE = KeyedPattern(r"(?:https?://|www\.)\S++|(?<!\S)[^\s@]{1,64}@\S++|[@#][\w.]++", keys="http, www., @, #")
_WORD = regex.compile(r"\p{L}[\p{L}'’]*")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


_BY_SCRIPT = {"hangul": "ko", "hebrew": "he", "greek": "el", "georgian": "ka", "armenian": "hy", "thai": "th"}

_RUSSIAN_WORDS = _words(
    "и что это как вас нет есть или если чтобы можно нужно пожалуйста здравствуйте добрый день спасибо сколько какой "
    "какая какие где когда уже очень ещё еще только сейчас будет были меня мне вам мы вы он она они"
)
_TURKISH_WORDS = _words("ve bir bu için ile ne var mı mi mu mü değil çok size siz fiyat nasıl evet hayır")
_OTHER_LATIN = regex.compile(r"[^\W\d_a-zA-Z]")
_ENGLISH_WORDS = _words(
    "the a an and or of to in is are was it this that you your we our i my for with on at have has can will not do "
    "does be if how what when where much please thank thanks yes no there from by as but would could which "
    "should need me let about here just so any more help"
)

_LANGUAGE_NAMES = (
    "русск", "английск", "англ.", "украинск", "казахск", "турецк", "арабск", "китайск", "по-англ",
    "російськ", "англійськ", "українськ", "мовою", "орысша", "қазақша", "ағылшын", "тілінде",
    "english", "russian", "ukrainian", "kazakh", "turkish", "arabic", "chinese", "language",
    "türkçe", "ingilizce", "rusça", "arapça", "العربية", "بالعربي", "الإنجليزي", "الروسي",
)  # fmt: skip
_NAMES_A_LANGUAGE = KeyedPattern(
    "|".join(map(regex.escape, _LANGUAGE_NAMES)), regex.IGNORECASE, keys=", ".join(_LANGUAGE_NAMES)
)


def script_language(text: str) -> str | None:
    """The language code of `text` (ru, uk, kk, en, tr, ar, and zh, ja, ko and others by script), or None if unsure."""
    text = _NOISE.sub(" ", text)
    return _language_of(text, count_kinds(text))


def disagrees(reply: str, customer: str) -> str | None:
    """The customer's language where the reply is clearly in another one; None when either is in doubt.

    A customer who speaks of languages ("in English, please") is never contradicted: what they wish for is not what
    they write in.
    """
    if _NAMES_A_LANGUAGE.search(customer):
        return None
    said, written = count_kinds(reply), count_kinds(customer)
    bare_reply, bare_customer = _NOISE.sub(" ", reply), _NOISE.sub(" ", customer)
    bare_said = said if bare_reply == reply else count_kinds(bare_reply)
    bare_written = written if bare_customer == customer else count_kinds(bare_customer)
    spoken = _language_of(bare_customer, bare_written)
    answered = _language_of(bare_reply, bare_said)
    strayed = _has_strayed(scripts_in(said), scripts_in(written))
    if spoken is None:
        return _disagrees_by_script(bare_written, answered=answered, strayed=strayed)
    if answered is not None and answered != spoken:
        return spoken
    return spoken if strayed else None


def _language_of(text: str, kinds: dict[str, int]) -> str | None:
    scripts, letters = scripts_in(kinds), kinds.get(LETTER, 0)
    if not letters or not scripts:
        return None
    script, share = max(scripts.items(), key=lambda item: item[1])
    logographs = scripts.get("han", 0) + scripts.get("kana", 0)
    if logographs >= _ENOUGH_LOGOGRAPHS and logographs * 10 >= letters * 7:
        return "ja" if scripts.get("kana", 0) * 5 >= logographs else "zh"
    if letters < _ENOUGH_LETTERS or share * 10 < letters * 8:
        return None
    match script:
        case "cyrillic":
            return _cyrillic(text, kinds)
        case "latin":
            return _latin(text, kinds)
        case "arabic":
            return None if "persian" in kinds else "ar"
        case _:
            return _BY_SCRIPT.get(script)


def _disagrees_by_script(written: dict[str, int], *, answered: str | None, strayed: bool) -> str | None:
    """A short customer text may still be all in one script, which is enough against a reply all in another."""
    if set(scripts_in(written)) != {"cyrillic"} or written["cyrillic"] < 4:
        return None
    if answered in {None, "ru", "uk", "kk"} and not strayed:
        return None
    if "kazakh" in written:
        return "kk"
    return "uk" if "ukrainian" in written else "ru"


def _has_strayed(said: dict[str, int], written: dict[str, int]) -> bool:
    """East Asian words amid a reply to someone who used none: models drift there. A brand name is not enough."""
    foreign = sum(count for name, count in said.items() if name in EAST_ASIAN and name not in written)
    if foreign >= 4 and foreign * 20 >= sum(said.values()):
        return True
    # However short: not a letter of an alphabet that the customer writes, or that brands are written in.
    return bool(said) and said.keys().isdisjoint({"latin", "cyrillic", *written})


def _cyrillic(text: str, kinds: dict[str, int]) -> str | None:
    letters, russian = kinds["cyrillic"], kinds.get("russian", 0)
    if "other_cyrillic" in kinds:
        return None
    if kazakh := kinds.get("kazakh", 0):
        # Kazakh has ы too, and people mix the two: only a text full of Kazakh letters is Kazakh.
        return "kk" if kazakh * 20 >= letters and len(_words(text) & _RUSSIAN_WORDS) <= 1 else None
    if ukrainian := kinds.get("ukrainian", 0):
        return "uk" if ukrainian * 40 >= letters and not russian else None
    return "ru" if russian or letters >= 60 or _words(text) & _RUSSIAN_WORDS else None


def _latin(text: str, kinds: dict[str, int]) -> str | None:
    if "other_latin" in kinds:
        return None
    words = [word.casefold() for word in _WORD.findall(text)]
    turkish = kinds.get("turkish", 0)
    if turkish >= 2 or (turkish and _TURKISH_WORDS.intersection(words)):
        return "tr"
    english = sum(word in _ENGLISH_WORDS for word in words)
    if _OTHER_LATIN.search(text) or english < 3 or english * 6 < len(words):
        return None
    return "en"
