"""Which language a text is in, where that is beyond doubt; made to say "unsure" rather than to guess."""

import regex

# Below this many letters detectors guess.
_ENOUGH_LETTERS = 20
# A logograph says as much as a word.
_ENOUGH_LOGOGRAPHS = 6

_NOISE = regex.compile(r"(?:https?://|www\.)\S++|(?<!\S)[^\s@]{1,64}@\S++|[@#][\w.]++")
_LETTER = regex.compile(r"\p{L}")
_WORD = regex.compile(r"\p{L}[\p{L}'’]*")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


_SCRIPTS = {
    name: regex.compile(pattern)
    for name, pattern in {
        "cyrillic": r"\p{Cyrillic}",
        "latin": r"\p{Latin}",
        "arabic": r"\p{Arabic}",
        "han": r"\p{Han}",
        "kana": r"[\p{Hiragana}\p{Katakana}]",
        "hangul": r"\p{Hangul}",
        "hebrew": r"\p{Hebrew}",
        "greek": r"\p{Greek}",
        "georgian": r"\p{Georgian}",
        "armenian": r"\p{Armenian}",
        "thai": r"\p{Thai}",
        "devanagari": r"\p{Devanagari}",
    }.items()
}
_EAST_ASIAN = frozenset({"han", "kana", "hangul", "thai"})
_BY_SCRIPT = {"hangul": "ko", "hebrew": "he", "greek": "el", "georgian": "ka", "armenian": "hy", "thai": "th"}

_KAZAKH = regex.compile(r"[әғқңөұүһ]", regex.IGNORECASE)
_UKRAINIAN = regex.compile(r"[іїєґ]", regex.IGNORECASE)
_RUSSIAN = regex.compile(r"[ыэъё]", regex.IGNORECASE)
_OTHER_CYRILLIC = regex.compile(r"[ўђјљњћџѓќѕ]", regex.IGNORECASE)
_RUSSIAN_WORDS = _words(
    "и что это как вас нет есть или если чтобы можно нужно пожалуйста здравствуйте добрый день спасибо сколько какой "
    "какая какие где когда уже очень ещё еще только сейчас будет были меня мне вам мы вы он она они"
)

_TURKISH = regex.compile(r"[ğışİ]")
_TURKISH_WORDS = _words("ve bir bu için ile ne var mı mi mu mü değil çok size siz fiyat nasıl evet hayır")
_OTHER_LATIN = regex.compile(r"[^\W\d_a-zA-Z]")
_OTHER_LATIN_MARKS = regex.compile(r"[əäßñãõłęąćżźřěůžčșțåæø]", regex.IGNORECASE)
_ENGLISH_WORDS = _words(
    "the a an and or of to in is are was it this that you your we our i my for with on at have has can will not do "
    "does be if how what when where much please thank thanks yes no there from by as but would could which "
    "should need me let about here just so any more help"
)
_PERSIAN = regex.compile(r"[پچژگکیےٹڈڑں]")

_NAMES_A_LANGUAGE = regex.compile(
    r"русск|английск|англ\.|украинск|казахск|турецк|арабск|китайск|по-англ|"
    r"російськ|англійськ|українськ|мовою|орысша|қазақша|ағылшын|тілінде|"
    r"english|russian|ukrainian|kazakh|turkish|arabic|chinese|language|"
    r"türkçe|ingilizce|rusça|arapça|العربية|بالعربي|الإنجليزي|الروسي",
    regex.IGNORECASE,
)


def script_language(text: str) -> str | None:
    """The language code of `text` (ru, uk, kk, en, tr, ar, and zh, ja, ko and others by script), or None if unsure."""
    text = _NOISE.sub(" ", text)
    counts = _count_scripts(text)
    letters = len(_LETTER.findall(text))
    if not letters or not counts:
        return None
    script, share = max(counts.items(), key=lambda item: item[1])
    east_asian = sum(counts.get(name, 0) for name in ("han", "kana"))
    if east_asian >= _ENOUGH_LOGOGRAPHS and east_asian * 10 >= letters * 7:
        return "ja" if counts.get("kana", 0) * 5 >= east_asian else "zh"
    if letters < _ENOUGH_LETTERS or share * 10 < letters * 8:
        return None
    match script:
        case "cyrillic":
            return _cyrillic(text, share)
        case "latin":
            return _latin(text)
        case "arabic":
            return None if _PERSIAN.search(text) else "ar"
        case _:
            return _BY_SCRIPT.get(script)


def disagrees(reply: str, customer: str) -> str | None:
    """The customer's language where the reply is clearly in another one; None when either is in doubt.

    A customer who speaks of languages ("in English, please") is never contradicted: what they wish for is not what
    they write in.
    """
    if _NAMES_A_LANGUAGE.search(customer):
        return None
    spoken = script_language(customer)
    if spoken is None:
        return _disagrees_by_script(reply, customer)
    answered = script_language(reply)
    if answered is not None and answered != spoken:
        return spoken
    return spoken if _has_strayed(reply, customer) else None


def _disagrees_by_script(reply: str, customer: str) -> str | None:
    """A short customer text may still be all in one script, which is enough against a reply all in another."""
    counts = _count_scripts(_NOISE.sub(" ", customer))
    if set(counts) != {"cyrillic"} or counts["cyrillic"] < 4:
        return None
    if script_language(reply) in {None, "ru", "uk", "kk"} and not _has_strayed(reply, customer):
        return None
    if _KAZAKH.search(customer):
        return "kk"
    return "uk" if _UKRAINIAN.search(customer) else "ru"


def _has_strayed(reply: str, customer: str) -> bool:
    """East Asian words amid a reply to someone who used none: models drift there. A brand name is not enough."""
    strays = {name for name in _EAST_ASIAN if name in _count_scripts(customer)}
    counts = _count_scripts(reply)
    foreign = sum(count for name, count in counts.items() if name in _EAST_ASIAN - strays)
    if foreign >= 4 and foreign * 20 >= sum(counts.values()):
        return True
    # However short: not a letter of an alphabet that the customer writes, or that brands are written in.
    return bool(counts) and counts.keys().isdisjoint({"latin", "cyrillic", *_count_scripts(customer)})


def _count_scripts(text: str) -> dict[str, int]:
    if text.isascii():
        latin = sum(map(str.isalpha, text))
        return {"latin": latin} if latin else {}
    counts = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS.items()}
    return {name: count for name, count in counts.items() if count}


def _cyrillic(text: str, letters: int) -> str | None:
    kazakh, ukrainian = len(_KAZAKH.findall(text)), len(_UKRAINIAN.findall(text))
    words = _words(text)
    russian = len(_RUSSIAN.findall(text))
    russian_words = len(words & _RUSSIAN_WORDS)
    if _OTHER_CYRILLIC.search(text):
        return None
    if kazakh:
        # Kazakh has ы too, and people mix the two: only a text full of Kazakh letters is Kazakh.
        return "kk" if kazakh * 20 >= letters and russian_words <= 1 else None
    if ukrainian:
        return "uk" if ukrainian * 40 >= letters and not russian else None
    return "ru" if russian or russian_words or letters >= 60 else None


def _latin(text: str) -> str | None:
    words = [word.casefold() for word in _WORD.findall(text)]
    if _OTHER_LATIN_MARKS.search(text):
        return None
    turkish = len(_TURKISH.findall(text))
    if turkish >= 2 or (turkish and _TURKISH_WORDS.intersection(words)):
        return "tr"
    english = sum(word in _ENGLISH_WORDS for word in words)
    if _OTHER_LATIN.search(text) or english < 3 or english * 6 < len(words):
        return None
    return "en"
