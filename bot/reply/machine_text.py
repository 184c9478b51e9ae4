"""Text of machines where a reply should be: tool syntax, sentinels, error messages, the provider's refusals."""

import json

import regex

from bot.text.keyed_patterns import KeyedPattern
from bot.text.sentences import split_sentences

_BAR = r"[|｜]"
_TOOL_SYNTAX = KeyedPattern(
    rf"""
      <?/?{_BAR}\s?DSML\s?{_BAR}
    | <{_BAR}\s?/?tool[_▁\s]?(?:call|output|response|sep)s?
    | </?(?:[a-z]{{1,20}}:)?(?:tool_?calls?|function_?calls?|tool_use|tool_response|function_results?|tool_code
    |invoke)\b
    | <(?:function|parameter|invoke)\s?(?:=|name\s?=)
    | </(?:function|parameter)>
    | \[/?TOOL_(?:CALLS?|REQUEST|RESULTS?)\]
    | <\|python_tag\|>
    | \bto=(?:functions|tools?)\.\w
    | \bfunctions\.\w{{1,60}}(?::\d|\s?\(|\s?\{{)
    | \bdefault_api\.\w
    | ^\s{{0,4}}tool_(?:code|call|outputs?)\s{{0,4}}$
    | \[ARGS\]\s?\{{
    | ^\s{{0,4}}Action\ Input:
    """,
    regex.VERBOSE | regex.IGNORECASE | regex.MULTILINE,
    keys="<, dsml, tool_, to=, functions., default_api., [args], action input:",
)
_CALL_NAME = r"\"(?:name|tool|tool_name|function|function_name|action|recipient_name)\"\s{0,4}:"
_CALL_ARGUMENTS = r"\"(?:arguments|args|parameters|params|input|action_input)\"\s{0,4}:"
_JSON_CALL = KeyedPattern(
    rf"\{{\s{{0,20}}(?:{_CALL_NAME}\s{{0,4}}[\"{{][^\n\"}}]{{0,80}}[\"}}]?\s{{0,4}},\s{{0,20}}{_CALL_ARGUMENTS}"
    rf"|{_CALL_ARGUMENTS}\s{{0,4}}\{{[^{{}}]{{0,400}}\}}\s{{0,4}},\s{{0,20}}{_CALL_NAME})",
    keys='"arguments, "args, "param, "input, "action_input',
)
_CONTROL_TOKEN = KeyedPattern(rf"<{_BAR}[A-Za-z_▁/][\w▁ \-]{{0,60}}{_BAR}>", keys="<|, <｜")
# Nothing but a call in Python's clothes: [lookup(query="...")].
_PYTHON_CALL = KeyedPattern(
    r"\s*\[?\s?(?:print\()?[A-Za-z_][\w.]{1,60}\(\s?\w{1,40}\s?=\s?[\"'\[{\d][^\n]{0,2000}\)\]?\s*",
    keys="(",
)
# Nothing but the stage direction of a call: "[Поиск в каталоге: кружка]".
_STAGED_CALL = KeyedPattern(
    r"\s*[\[(*](?:поиск|ищ[ую]\w?|ищет|вызов|вызываю|пошук|search(?:ing|es)?|calling|using|looking)\b"
    r"[^\[\]()\n]{0,80}[\])*]\s*",
    regex.IGNORECASE,
    keys="[, (, *",
)
_WRAPPED = KeyedPattern(r"\A\s*[\[{]\s*[\"'][\w \-]{1,40}[\"']\s*:", keys="[, {")


def has_tool_syntax(text: str, tool_names: tuple[str, ...] = ()) -> bool:
    """A tool call, or its remains, written out as text; control tokens of chat templates count too."""
    if (
        _TOOL_SYNTAX.search(text)
        or _JSON_CALL.search(text)
        or _CONTROL_TOKEN.search(text)
        or _PYTHON_CALL.fullmatch(text)
        or _STAGED_CALL.fullmatch(text)
    ):
        return True
    return any(_mentions_tool(text, name) for name in tool_names)


def _mentions_tool(text: str, name: str) -> bool:
    """Names such as `search_catalog` are no word of any language; a plain `search` counts only when it is called."""
    if name not in text:
        return False
    tail = r"(?!\w)" if "_" in name else r"[ ]?[({>]"
    return regex.search(rf"(?<![\w/.@]){regex.escape(name)}{tail}", text) is not None


def is_json_wrapper(text: str) -> bool:
    """Structured output that hygiene could not unwrap."""
    stripped = text.strip()
    if _WRAPPED.match(stripped):
        return True
    if not (stripped.startswith(("{", "[{")) and stripped.endswith(("}", "]"))):
        return False
    try:
        return isinstance(json.loads(stripped), dict | list)
    except (ValueError, RecursionError):
        return False


_SENTINEL = KeyedPattern(
    r"[\s(\[{<*_\"'«]*(?:empty|no[ _\-]?(?:reply|response|answer|output|content)|no (?:further |additional )?"
    r"(?:reply|response|answer|message|action)s? (?:is |are )?(?:requested|needed|required|necessary)"
    r"|(?:ответ|реакция|сообщение)(?: клиенту| пользователю)? не (?:требуется|нужен|нужна|нужно)|ответа не требуется"
    r"|відповідь(?: клієнту)? не потрібна|відповіді не потрібно"
    r"|silence|silent|blank|end_?turn|no_?op|heartbeat_ok"
    r"|нет ответа|пусто|пустой ответ|без ответа|молчание|空|无|无回复)"
    r"[\s)\]}>*_\"'».!]*",
    regex.IGNORECASE,
    keys="empty, no, ответ, реакция, сообщение, відповід, silen, blank, end, heartbeat_ok, пуст, молчание, 空, 无",
)
_WRAPPED_ONLY = frozenset({"empty", "blank", "silence", "silent", "пусто", "молчание"})
_ABOUT_REPLIES = KeyedPattern(
    r"\b(?:repl(?:y|ies)|answer|respon[ds]|отве[тч]|відпов|жауап|cevap|yanıt)|رد",
    regex.IGNORECASE,
)
_SENTINEL_WORD = KeyedPattern(
    r"(?<!\w)(?:NO_REPLY|NO_RESPONSE|NO_OUTPUT|HEARTBEAT_OK|END_TURN)(?!\w)",
    keys="no_re, no_out, heartbeat_ok, end_turn",
)


def is_sentinel(text: str, customer_text: str = "") -> bool:
    """A word that stands for "I say nothing". The everyday ones of them count only in brackets: "(empty)".

    A customer who asks about replies may be told that none is needed.
    """
    if _SENTINEL_WORD.search(text):
        return True
    stripped = text.strip()
    if len(stripped) > 60 or not _SENTINEL.fullmatch(stripped):
        return False
    if stripped[0] not in "([{<*" and _ABOUT_REPLIES.search(customer_text):
        return False
    return stripped.strip(".!").casefold() not in _WRAPPED_ONLY


_MACHINE = KeyedPattern(
    r"""
      Model\ call\ limits?\ exceeded | Sorry,\ need\ more\ steps\ to\ process
    | Agent\ stopped\ due\ to\ (?:iteration|time|max) | (?:reached
    |exceeded)\ (?:the\ )?max(?:imum)?\ (?:number\ of\ )?(?:iterations|tool\ calls|steps)
    | max(?:imum)?\ (?:iterations|turns|steps)\ (?:reached|exceeded)
    | Traceback\ \(most\ recent\ call\ last\) | ^\s{0,8}File\ "[^"\n]{1,200}",\ line\ \d
    | ^\W{0,4}Error\ code:\ [45]\d\d\b | Error\ code:\ [45]\d\d\s?[-–]\s?[{\[]
    | ^\W{0,4}(?:HTTP\ (?:status\ )?(?:error\ )?[45]\d\d\b|[45]\d\d\ (?:Bad\ Request|Unauthorized|Forbidden
    |Not\ Found|Too\ Many\ Requests|Internal\ Server\ Error|Bad\ Gateway|Service\ Unavailable|Gateway\ Time-?out))
    | (?-i:\b[A-Z]\w{2,40}(?:Error|Exception):\ \S)
    | \b(?:Internal\ Server\ Error|Rate\ limit\ (?:reached|exceeded)\ for|context\ length\ exceeded
    |maximum\ context\ length)\b
    | \bUser\ location\ is\ not\ supported | "(?:error|status_code|error_code|finish_reason)"\s{0,3}:
    | \A\W{0,4}(?:Sorry,\ )?(?:an?\ )?(?:internal\ |unexpected\ )?error\ (?:has\ )?occurred
    | \A\W{0,4}Something\ went\ wrong\b
    | \A\W{0,4}Error:\ (?:timeout|request|connection|failed|invalid|unexpected|cannot|could\ not|no\ )
    | \A\W{0,4}(?:извините[,.!]\ )?произошла\ (?:внутренняя\ |непредвиденная\ |неизвестная\ )?ошибка
      (?:\ (?:сервера|системы))?[.!]?(?:\ (?:пожалуйста,\ )?(?:попробуйте|повторите)\b[^.!\n]{0,40}[.!]?)?\s*\Z
    | \A\W{0,4}внутренняя\ ошибка\ сервера\W*\Z
    | \bupstream\ connect\ error\b | \breset\ reason:\ | \bECONN(?:RESET|REFUSED)\b | \bETIMEDOUT\b
    | \b(?:model|engine|server)\ is\ (?:currently\ |temporarily\ )?(?:overloaded|at\ capacity)\b
    | \bRequest\ failed\ with\ status\ code\ \d
    | \[object\ Object\] | <!DOCTYPE\ html | <html[\s>]
    """,
    regex.VERBOSE | regex.MULTILINE | regex.IGNORECASE,
    keys=(
        'model call limit, need more steps, agent stopped, reached, exceeded, traceback, file ", error code:, '
        "http, bad request, unauthorized, forbidden, not found, too many requests, internal server error, "
        "bad gateway, service unavailable, gateway time, error: , exception: , rate limit, context length, "
        'user location, "error, "status_code", "finish_reason", occurred, something went wrong, ошибка, '
        "upstream connect, reset reason, econn, etimedout, overloaded, at capacity, request failed, "
        "[object object], <!doctype, <html"
    ),
)


_STACK_LINE = KeyedPattern(
    r"^\s{0,8}at [\w.$<>\[\] ]{1,120} ?\((?:[\w./:\\\-]{1,200}:\d+:\d+|<anonymous>|native)\)",
    regex.MULTILINE | regex.IGNORECASE,
    keys="at ",
)


def is_machine_text(text: str) -> bool:
    """A framework's canned phrase, an error message, a stack trace."""
    return _MACHINE.search(text) is not None or _STACK_LINE.search(text) is not None


# What a template leaves where a name or a price belongs. Brackets with other words in them are a shop's own.
_PLACEHOLDER = KeyedPattern(
    r"\{\{\s?[^\W\d][\w .]{1,40}\s?\}\}"
    r"|(?<![\w$])\{(?:[a-z]{1,20}_)?(?:name|price|date|time|link|url|phone|city|product)\}"
    r"|\[(?:insert|customer(?:['’]s)?|client(?:['’]s)?|user(?:['’]s)?|company|product) "
    r"(?:the )?(?:name|price|date|time|link|url|phone|number|address)[^\[\]\n]{0,30}\]"
    r"|^\[your name\]$|\blorem ipsum dolor\b"
    r"|<(?:customer|user|client)[_ ]?name>|(?<![\w%])%(?-i:[A-Z][A-Z_]{2,20})%(?![\w%])|\$\{\w{2,30}\}"
    r"|\[(?-i:ЦЕНА|ИМЯ|ДАТА|ССЫЛКА|АДРЕС|PRICE|NAME|DATE|LINK)\]|(?:здравствуйте|привет|hello|hi|dear),? _{3,}"
    r"|\[(?:имя|ім['’]я) (?:клиент|покупател|пользовател|клієнт)\w{1,3}\]"
    r"|\[название (?:компании|студии|магазина|товара|продукта)\]|\[(?:укажите|вставьте|введите) \w[^\[\]\n]{1,40}\]"
    r"|(?:здравствуйте|привет|добрый день|вітаю|hi|hello|dear|hey),? \[(?:имя|ім['’]я|name|first name)\]",
    regex.IGNORECASE | regex.MULTILINE,
    keys="{, [, <, %, ___, lorem",
)


_ABOUT_TEMPLATES = KeyedPattern(r"\b(?:template|sample|example|шаблон|образец|пример|зразок)", regex.IGNORECASE)


def has_placeholder(text: str, customer_text: str = "") -> bool:
    """A blank of a template left unfilled: "[имя клиента]", "{{price}}"; unless a template was asked for."""
    return _PLACEHOLDER.search(text) is not None and not _ABOUT_TEMPLATES.search(customer_text)


_POLICY = KeyedPattern(
    r"\bas an? (?:AI|artificial intelligence|large)(?: language)? (?:model|assistant),? I\b"
    r"|\bI(?:['’]m| am) (?:just )?an AI language model"
    r"|\b(?:against|violat\w{1,4}) (?:my|our|the|openai'?s?|content|usage) (?:content |usage "
    r"|safety )?(?:polic(?:y|ies)|guidelines|programming)"
    r"|(?:как|я)\s?[—–-]?\s?(?:большая |всего лишь |просто )?языковая модель"
    r"|есть темы, в которых я могу ошибаться"
    r"|як (?:велика )?мовна модель"
    r"|作为(?:一个|一名)?(?:AI|人工智能|语言模型)|我无法(?:回答|协助|提供|满足)|抱歉，我(?:无法|不能)",
    regex.IGNORECASE,
    keys="as a, ai language, against, violat, языковая модель, есть темы, мовна модель, 作为, 我无法, 抱歉",
)
_REFUSAL = KeyedPattern(
    r"\b(?:I(?:['’]m| am) (?:very |really |so )?sorry,? (?:but )?|sorry,? (?:but )?|unfortunately,? )?"
    r"I (?:can(?:no|['’])t|cannot|can not|won['’]t|will not|am (?:unable|not able) to|['’]m (?:unable|not able) to) "
    r"(?:be able to )?(?:assist (?:you )?with (?:that|this|your|such)|help (?:you )?with (?:that|this) request"
    r"|comply|fulfil+ (?:that|this|your) request|engage (?:in|with) (?:that|this|such)"
    r"|continue (?:with )?this conversation|participate in)"
    r"|я не могу (?:помочь (?:вам )?с (?:этим|таким) запросом|выполнить (?:этот|ваш|такой|данный) запрос"
    r"|обсуждать (?:эту|такую|данную) тему|(?:участвовать|продолжать) (?:в )?(?:этот|таком|этом) (?:разговор|диалог))"
    r"|я не можу (?:допомогти (?:вам )?з (?:цим|таким) запитом|виконати (?:цей|ваш) запит)",
    regex.IGNORECASE,
    keys="assist, help, comply, fulfil, engage, continue, participate, я не могу, я не можу",
)


_OTHER_NAME = (
    r"(?:ChatGPT|(?:Yandex)?GPT-?\d?\w{0,3}|Claude|DeepSeek|Qwen|Gemini|GigaChat|Llama|Mistral|Grok|Kimi|GLM-?\d?)"
)
_OTHER_MAKER = r"(?:OpenAI|Anthropic|DeepSeek|Google|Alibaba|Moonshot|Zhipu|Mistral|xAI|Яндекс|Сбер)"
_IDENTITY = KeyedPattern(
    rf"\b(?:I(?:['’]m| am)|my name is|меня зовут|мене звати|я)\s?[—–-]?\s?{_OTHER_NAME}(?!\w)"
    rf"|\b(?:I|я)\b[^.!?\n]{{0,40}}\b(?:created|developed|trained|made|создан|разработан|обучен|натренирован)\w{{0,2}} "
    rf"(?:by |компанией )?{_OTHER_MAKER}",
    regex.IGNORECASE,
    keys=(
        "gpt, claude, deepseek, qwen, gemini, gigachat, llama, mistral, grok, kimi, glm, openai, anthropic, "
        "google, alibaba, moonshot, zhipu, xai, яндекс, сбер"
    ),
)


def names_its_maker(text: str) -> bool:
    """The model introduces itself as what it is underneath, where the shop's assistant should speak."""
    return _IDENTITY.search(text) is not None


def is_refusal(text: str) -> bool:
    """The provider's policy speaking, not the shop: "we do not sell this" is an answer."""
    if _POLICY.search(text[:600]):
        return True
    found = _REFUSAL.search(text[:600])
    if found is None:
        return False
    # A refusal that goes on to help is an answer.
    rest = sum(len(sentence) for sentence in split_sentences(text) if not _REFUSAL.search(sentence))
    return rest < 60
