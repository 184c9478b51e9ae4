"""The copy of a text in which tags and blocks are recognised, whatever signs and letters a model wrote them with.

It is as long as the text, character for character: a span found in the copy can be cut from the original.
"""

import re
from functools import lru_cache

import regex

_SIGNS = (
    ("［］【】〔〕〖〗「」『』⟦⟧〚〛〘〙❲❳﹝﹞", "[]" * 11),
    ("（）﹙﹚❨❩", "()" * 3),
    ("｛｝﹛﹜❴❵", "{}" * 3),
    ("＜＞《》〈〉⟨⟩❬❭", "<>" * 5),
    ("：︰∶﹕＝｜∣│＿；，、\u00a0\u202f\u2007\t／－", "::::=|||_;,,    /-"),
)
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = (
    ("ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ", _CAPITALS),
    ("ａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ", _CAPITALS.lower()),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),  # Greek
    ("\u212aſıİ", "KsiI"),  # equal to k, s and i where case is ignored
    ("\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86", "вдосттъ"),  # likewise
)
_TO_PLAIN = {ord(sign): plain for signs, plains in _SIGNS + _LETTERS for sign, plain in zip(signs, plains, strict=True)}
_LOOKALIKES_CYRILLIC = "АВЕКМНОРСТУХІЈЅԌԜасеорхуіјѕкмтвн"
_LOOKALIKES_LATIN = "ABEKMHOPCTYXIJSGWaceopxyijskmtbh"
_TO_LATIN = str.maketrans(_LOOKALIKES_CYRILLIC, _LOOKALIKES_LATIN)
_TO_CYRILLIC = str.maketrans(_LOOKALIKES_LATIN, _LOOKALIKES_CYRILLIC)
_MIXED_WORD = regex.compile(r"\b(?=[\w]{0,40}[A-Za-z])(?=[\w]{0,40}\p{Cyrillic})[\w]{2,40}\b")
_CYRILLIC = regex.compile(r"\p{Cyrillic}")
# What the folding is for is rare: most texts show their tags as they stand.
_FOREIGN = re.compile(f"[{re.escape(''.join(map(chr, _TO_PLAIN)))}]")
_LATIN_LETTER = re.compile(r"[A-Za-z]")


@lru_cache(maxsize=8)
def fold_confusables(text: str) -> str:
    """`text` with ASCII signs, plain letters, and every word of two alphabets in the one that it can be read in."""
    plain = text.translate(_TO_PLAIN) if _FOREIGN.search(text) else text
    if _LATIN_LETTER.search(plain) and _CYRILLIC.search(plain):
        return str(_MIXED_WORD.sub(_fold_mixed_word, plain))
    return plain


def _fold_mixed_word(match: "regex.Match[str]") -> str:
    word: str = match[0]
    latin = word.translate(_TO_LATIN)
    return word.translate(_TO_CYRILLIC) if _CYRILLIC.search(latin) else latin
