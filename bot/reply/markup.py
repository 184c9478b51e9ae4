"""Markup that a direct message does not render: markdown, HTML, entities. The words stay."""

import html

import regex

from bot.text.keyed_patterns import KeyedPattern

_FENCE_LINE = KeyedPattern(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+\-.]{0,20}[ \t]*$\n?", regex.MULTILINE)
_FENCE = KeyedPattern(r"`{3,}(?:(?:markdown|md|text|txt|json|html|plaintext|xml)\b)?")

_URL = r"(?:https?://|www\.|mailto:|tel:|tg://|[\w\-]{1,63}(?:\.[\w\-]{1,63}){0,4}\.\w{2,12}(?:/|(?=\))))"
_LINK = KeyedPattern(
    rf"!?\[([^\[\]\n]{{0,300}})\]\(\s?"
    rf"((?={_URL})[^()\s]{{1,2000}}+(?:\([^()\s]{{0,200}}\)[^()\s]{{0,200}})?)"
    r"(?:[ ]\"[^\"\n]{0,200}\")?\s?\)",
    keys="](",
)
# An image without words is a tracking pixel or a picture that a direct message does not show.
_IMAGE = KeyedPattern(
    rf"!\[\s{{0,9}}\]\(\s?(?={_URL})[^()\s]{{1,2000}}+(?:[ ]\"[^\"\n]{{0,200}}\")?\s?\)|<(?:img|IMG)\s[^<>]{{1,2000}}>",
    keys="![, <img",
)
_AUTOLINK = KeyedPattern(r"<((?:https?://|mailto:|tel:)[^<>\s]{1,2000})>", keys="<")
_ANCHOR = KeyedPattern(
    r"<a\s[^<>]{0,200}?href=[\"']?([^\"'<>\s]{1,2000}+)[\"']?[^<>]{0,200}>([^<>]{0,300})</a>",
    regex.IGNORECASE,
    keys="<a",
)

# Lower case only: <B> and <S> are sizes in a shop.
_BREAK = KeyedPattern(r"<(?:br|BR|hr)\s?/?>|</(?:p|div|li|h[1-6]|tr)>", keys="<")
_ITEM = KeyedPattern(r"<li>", keys="<li>")
_HTML = KeyedPattern(
    r"</?(?:p|b|i|u|s|em|strong|div|span|ul|ol|li|h[1-6]|a|blockquote|code|pre|small|sub|sup|font|center|table|tr|td|th)"
    r"(?:\s[^<>\n=]{0,100}+=[^<>\n]{0,300}+)?\s?/?>",
    keys="<",
)
# What some models wrap an answer in.
_ANSWER = KeyedPattern(r"</?(?:answer|final_answer|final|response|reply|output|message)\s?/?>", keys="<")
_ENTITY = KeyedPattern(r"&(?:nbsp|quot|#39|apos|laquo|raquo|mdash|ndash|hellip);|&amp;(?=\s)", keys="&")

_ESCAPE = KeyedPattern(r"(?<![\u00AF\\])\\++([`*_\[\]()#+\-.!|>~])", keys="\\")
_HEADING = KeyedPattern(r"^[ \t]{0,3}#{1,6}[ \t]+(?=\S)", regex.MULTILINE, keys="#")
_RULE = regex.compile(r"^[ \t]*+([-*_=\u2500\u2501\u2550])(?:[ \t]*+\1){2,}+[ \t]*+$\n?", regex.MULTILINE)
_QUOTE = KeyedPattern(r"^[ \t]{0,3}>(?:[ \t]?>)*+[ \t]++(?=[^\s\d])", regex.MULTILINE, keys=">")
_TABLE_RULE = KeyedPattern(
    r"^[ \t]*+\|?+[ \t]*+:?-{3,}+:?[ \t]*+(?:\|[ \t]*+:?-{3,}+:?[ \t]*+)++\|?+[ \t]*+$\n?",
    regex.MULTILINE,
    keys="|",
)
_TABLE_ROW = KeyedPattern(r"^[ \t]*+\|[ \t]*+([^\n]*[^\s|])[ \t]*+\|[ \t]*+$", regex.MULTILINE, keys="|")

# A pair is markup only around words: 20*30*40, **** 1234, @_anna_ and O`zbek are none.
_BOLD = KeyedPattern(r"(?<!\*)\*\*(?=[^\s*])([^*\n]{1,2000}?)(?<=[^\s*])\*\*(?!\*)", keys="**")
_BOLD_ITALIC = KeyedPattern(r"(?<!\*)\*\*\*(?=[^\s*])([^*\n]{1,2000}?)(?<=[^\s*])\*\*\*(?!\*)", keys="***")
_ITALIC = KeyedPattern(r"(?<![\w*=/?&])\*(?=[^\s*])([^*\n]{1,2000}?)(?<=[^\s*])\*(?![\w*])", keys="*")
_UNDERLINE = KeyedPattern(r"(?<![\w@/.\-])__(?=[^\s_])([^_\n]{1,2000}?)(?<=[^\s_])__(?![\w])", keys="__")
_UNDERSCORE = KeyedPattern(r"(?<!\S)_(?=[^\s_])([^_\n]{1,2000})(?<=[^\s_])_(?!\w)", keys="_")
_STRIKE = KeyedPattern(r"~~(?=[^\s~])([^~\n]{1,2000}?)(?<=[^\s~])~~", keys="~~")
_CODE = KeyedPattern(r"(?<![\w`])`(?!`)([^`\n]{1,2000})`(?![\w`])", keys="`")
_EMPTY_PAIR = KeyedPattern(r"(?:(?<![\w*])\*\*\*\*(?![\w*\s])|(?<!`)``(?!`))", keys="****, ``")


def strip_fences(text: str) -> str:
    """Drop code fences; what they hold stays."""
    return str(_FENCE.sub("", _FENCE_LINE.sub("", text))) if "```" in text or "~~~" in text else text


def strip_markup(text: str) -> str:
    """Drop markdown and HTML, keep the words; lists keep their dashes and numbers, links become "text: address"."""
    text = _ANCHOR.sub(lambda m: _plain_link(m[2], m[1]), text)
    text = _IMAGE.sub("", text)
    text = _LINK.sub(lambda m: _plain_link(m[1], m[2]), text)
    text = _AUTOLINK.sub(lambda m: _bare(m[1]), text)
    text = _ITEM.sub("- ", _BREAK.sub("\n", text))
    text = _HTML.sub("", _ANSWER.sub("", text))
    text = _ENTITY.sub(lambda m: html.unescape(m[0]).replace("\u00a0", " "), text)
    text = _ESCAPE.sub(r"\1", text)
    if _TABLE_RULE.search(text):
        text = _TABLE_ROW.sub(r"\1", _TABLE_RULE.sub("", text))
    text = _QUOTE.sub("", _HEADING.sub("", _RULE.sub("", text)))
    for pair in (_BOLD_ITALIC, _BOLD, _ITALIC, _UNDERLINE, _STRIKE, _CODE):
        text = pair.sub(r"\1", text)
    # A single word between underscores is rather a name than emphasis.
    text = _UNDERSCORE.sub(lambda m: m[1] if " " in m[1] else m[0], text)
    return str(_EMPTY_PAIR.sub("", text))


def _plain_link(label: str, address: str) -> str:
    label, address = label.strip(), _bare(address)
    if not label or _bare(label).rstrip("/") == address.rstrip("/"):
        return address
    return f"{label}: {address}"


def _bare(address: str) -> str:
    return address.removeprefix("mailto:").removeprefix("tel:")
