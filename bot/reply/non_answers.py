"""Words that are no answer: a look-up announced and not done, thoughts said aloud, talk about our own nudges."""

import regex

from bot.text.keyed_patterns import KeyedPattern
from bot.text.sentences import split_sentences
from bot.text.visible import is_blank

# Longer texts say something besides the promise.
_LONGEST_PROMISE = 320

_PROMISE = KeyedPattern(
    r"""
      \b(?:провер(?:ю|яю|им|яем)|уточн(?:ю|яю|им|яем)|посмотр(?:ю|им)|смотрю|гляну|узна(?:ю|ём|ем)|поищу|ищу|найду
        |подберу
        |подбираю|загляну|запрошу|запрашиваю|сверюсь|сверяюсь|выясню|разберусь)\b
    | \b(?:одн[уа]|пару|буквально|секунд\w{0,5}|минут\w{0,5}|минуточк\w|минутк\w)\s(?:минут\w{0,5}|минуточку
    |секунд\w{0,5}|момент)
    | \b(?:минут(?:ку|очку)|секунд(?:у|очку)|один\sмомент|подождите|ожидайте)\b
    | \b(?:перевір(?:ю|яю|имо)|уточн(?:ю|юю|имо)|подивлю(?:ся|сь)|дізнаю(?:ся|сь)|пошукаю|шукаю|знайду|підберу|зачекайте
        |хвилин(?:ку|очку)|секундочку|одну\sхвилину)\b
    | \b(?:тексер(?:емін|іп\s\w{1,12}|ейін)|қара(?:ймын|йын|п\s(?:жатырмын|көрейін|шығайын))|нақтыла(?:ймын|йын)
    |бір\s(?:минут|сәт|секунд)
        |күте\sтұрыңыз)
    | \b(?:let\sme|I(?:['’]ll|\swill|['’]m\sgoing\sto|\sam\sgoing\sto)|we(?:['’]ll|\swill))\s(?:just\s|quickly\s
    |first\s|now\s|go\s(?:and\s)?)?
        (?:check|look|find|search|verify|pull\sup|see\s(?:what|if)|double-check|confirm|get\sback\sto)
    | \b(?:I(?:['’]m|\sam)\s(?:now\s|just\s|currently\s)?(?:checking|looking|searching|verifying))
    | ^\W{0,4}(?:checking|searching|looking)\b | \b(?:one|just\sa|give\sme\sa)\s(?:moment|sec|second|minute)\b
    | \b(?:please\swait|hold\son|bear\swith\sme)\b
    | \b(?:kontrol\sed(?:iyorum|eceğim|eyim|iyoruz)|bak(?:ıyorum|ayım|acağım)|araştır(?:ıyorum|acağım|ayım)
    |bir\s(?:dakika|saniye|saniyenizi)
        |bekleyin|bekler\smisiniz)\b
    | (?:لحظة|دقيقة\sواحدة|ثانية\sواحدة|س(?:وف\s)?أ?تحقق|سأتأكد|سأبحث|دعني\s(?:أتحقق|أتأكد|أبحث)|جاري\s(?:التحقق
    |البحث)|انتظر)
    """,
    regex.VERBOSE | regex.IGNORECASE,
    keys=(
        "провер, уточн, посмотр, смотрю, гляну, узна, ищу, найду, подбер, подбира, запрошу, запрашиваю, сверюсь, "
        "сверяюсь, выясню, разберусь, минут, секунд, момент, подождите, ожидайте, перевір, подивлю, дізнаю, "
        "пошукаю, шукаю, підберу, зачекайте, хвилин, тексер, қара, нақтыла, бір, күте, check, look, find, "
        "search, verify, pull, see, confirm, get, moment, sec, minute, wait, hold, bear, kontrol, bak, araştır, "
        "bir, bekle, لحظة, دقيقة, ثانية, تحقق, سأتأكد, سأبحث, دعني, جاري, انتظر"
    ),
)

# A condition, a request, a handover, a question or a fact in the sentence: then it is said for a reason.
_MORE_THAN_A_PROMISE = KeyedPattern(
    r"\d|\?|[:—–]\s*\S{3,}.{8,}"
    r"|\b(?:если|когда|как только|после|чтобы|напиш|пришл|скаж|подскаж|отправ|укаж|назов|оставь|жд[уё]|менеджер"
    r"|коллег|мастер"
    r"|завтра|утром|к вечеру|через|могу|можем|позже|"
    r"якщо|коли|після|щоб|напиш|надішл|скаж|вкаж|залиш|менеджер|завтра|вранці|"
    r"егер|жазыңыз|жіберіңіз|айтыңыз|ертең|"
    r"if|once|when|after|send|tell|share|let me know|manager|colleague|tomorrow|in the morning|can|"
    r"eğer|yazın|gönderin|söyleyin|yarın|yönetici|"
    r"إذا|أرسل|اكتب|غدا|المدير)",
    regex.IGNORECASE,
)
_PLEASANTRY = KeyedPattern(
    r"\W*(?:(?:здравствуйте|здравствуй|привет|приветствую|добр\w{2,4} (?:день|утро|вечер|дня|ночи)|хорошо|конечно"
    r"|отлично|поняла?|понятно|спасибо"
    r"|благодарю|да|ок|окей|ясно|супер|разумеется|с удовольствием|рад\w{0,2} (?:вас |помочь)\w{0,10}"
    r"|отличный вопрос|хороший вопрос|пожалуйста"
    r"|вітаю|добрий день|доброго дня|звичайно|звісно|дякую|так|добре|сәлеметсіз бе|сәлем|жақсы|әрине|рақмет"
    r"|hi|hello|hey|sure|of course|okay|ok|great|thanks|thank you|certainly|absolutely|good question|yes|got it"
    r"|no problem"
    r"|merhaba|tabii|tabi|elbette|tamam|teşekkürler|peki|مرحبا|أهلا|بالتأكيد|طبعا|حسنا|شكرا)"
    r"(?: (?:за|for|you|the|there|your|вам|вас|вы|ваш|вопрос|обращение|интерес|сообщение|message|asking|question"
    r"|reaching|out|ki)){0,6}\W*)+",
    regex.IGNORECASE,
)


def announces_a_lookup(text: str) -> bool:
    """All it says is that the answer will be looked up ("One moment, let me check"), and there it stops."""
    if len(text) > _LONGEST_PROMISE or not _PROMISE.search(text):
        return False
    said = [s for s in split_sentences(text) if not is_blank(s) and not _PLEASANTRY.fullmatch(s)]
    return bool(said) and all(_PROMISE.search(s) and not _MORE_THAN_A_PROMISE.search(s) for s in said)


_ENGLISH_THOUGHT = (
    r"(?:the|this) (?:user|customer|client) (?:is(?! always)|has|wants?|asks?|asked|said|says|needs?|seems?|just"
    r"|wrote|writes|"
    r"greet\w{0,3}|might|would|may|didn['’]t|sent|sends|appears|did|mentions?|mentioned|responded|replied|wishes)\b"
)
_OPENING_THOUGHT = KeyedPattern(
    r"\A\W{0,6}(?:(?:okay|ok|alright|hmm+|so|well|first|now|right|wait|итак|хорошо|так|ладно|окей|хм+|отже"
    r"|добре)[,.:… ]{1,3}){0,3}(?:"
    + _ENGLISH_THOUGHT
    + r"|(?:user|customer|client) (?:asks|asked|wants|says|said|greets|is asking|wrote|writes|requests)\b"
    r"|assistant (?:should|must|needs to)\b|(?:thinking|reasoning|thoughts?|thought process|рассуждение|мысли):"
    r"|(?:stage|этап)[ -]?[1-4]\b\W{1,4}(?:small[- ]?talk|scripts?\b|questionnaire|catalog|скрипт|анкета|каталог"
    r"|беседа)"
    + r"|(?:наш |этот )?(?:пользователь|клиент|покупатель|клиентка) (?:спрашивает|хочет|просит|пишет|написал\w?"
    r"|поздоровал\w{2}|интересуется|уточняет"
    r"|задал\w?|спросил\w?|здоровается|прислал\w?|отправил\w?|жалуется|говорит|сообщает|отвечает|ответил\w?)"
    r"|(?:користувач|клієнт|покупець) (?:запитує|хоче|просить|пише|написав|привітався|цікавиться|уточнює)"
    r"|用户|客户(?:想|问|说|询问)|我需要|首先|好的，用户"
    r"|(?:here(?:['’]s| is) (?:a|the|my) (?:draft|reply|response|suggested reply|possible reply))"
    r"|(?:вот (?:вариант|черновик) ответа|черновик ответа|draft reply|reply draft)"
    r")",
    regex.IGNORECASE,
    keys=(
        "user, customer, client, assistant, think, reason, thought, рассужд, мысли, stage, этап, пользовател, "
        "клиент, покупател, користувач, клієнт, покупець, 用户, 客户, 我需要, 首先, here, вариант, черновик, draft"
    ),
)
_PLAN = KeyedPattern(
    r"\b(?:I|we) (?:need|should|must|have|ought|want|['’]ll need|will need)(?: to)? (?:first |now |just |also "
    r"|politely |briefly )?"
    r"(?:respond|reply|answer|greet|ask|tell|inform|call|use|check with|follow|address|acknowledge"
    r"|mention to)\b[^.!?\n]{0,40}"
    r"\b(?:the (?:(?:user|customer|client)(?! service| support| care)|tool|function|system prompt"
    r"|instructions|script)|in (?:russian|ukrainian|english|kazakh|turkish|arabic)\b)"
    r"|\b(?:according to|per|following|based on) (?:(?:the |my )?(?:system prompt|persona|stage \d)"
    r"|my (?:instructions|guidelines)|the (?:instructions|guidelines),? (?:I|we) (?:should|must|need|have|am))"
    r"|\b(?:let me|let['’]s) (?:think|craft|draft|write|compose|formulate|re-?read)\b[^.!?\n]{0,40}\b(?:reply"
    r"|response|answer|through|step)"
    r"|(?:нужно|надо|следует|должен|должна|должны|необходимо|стоит) (?:\w{3,14} ){0,2}(?:ответить|поприветствовать"
    r"|спросить у)"
    r" (?:этому |нашему )?(?:пользовател|клиент|покупател)"
    r"|(?:согласно|по|следуя) (?:системн\w{2,3} промпт|инструкци\w{1,2}|моим инструкциям|скрипту"
    r"|правилам этапа)\w{0,2}[, ]{1,2}(?:я|мне|мы|нужно|надо|нам)"
    r"|буду следовать (?:инструкциям|правилам|указаниям|промпту)"
    r"|поня(?:л|ла|то)[,.]? (?:(?:эти |все |свою |мою )?(?:инструкции|задачу|правила|роль))[.,!]?\s(?:и )?готов"
    r"|готов[аы]? (?:отвечать|помогать|писать) (?:клиент|покупател|пользовател)"
    r"|\bI(?:['’]ll| will| am ready to) follow (?:the|these|your|my) (?:instructions|rules|guidelines)"
    r"|потрібно (?:\w{3,14} ){0,2}відповісти (?:клієнт|користувач|покупц)",
    regex.IGNORECASE,
    keys=(
        "the user, the customer, the client, the tool, the function, the system, the instructions, the script, "
        "in russian, in ukrainian, in english, in kazakh, in turkish, in arabic, system prompt, persona, stage , "
        "instructions, guidelines, let me, let's, let’s, пользовател, клиент, покупател, промпт, инструкци, "
        "скрипту, правилам, следовать, готов, follow, потрібно"
    ),
)


def is_monologue(text: str) -> bool:
    """Thoughts about the customer, in the third person or as a plan, where words to the customer should be."""
    if _OPENING_THOUGHT.search(text[:400]) or _PLAN.search(text[:1500]):
        return True
    return _NOTE_INSIDE.search(text) is not None


_NOTE_INSIDE = KeyedPattern(
    r"^[\s\[(*_]{0,4}(?:(?:внутренн|служебн)\w{2,3} (?:заметк|примечани|комментари|пометк)\w{1,2}"
    r"|(?:заметка|примечание|пометка) (?:для )?(?:себя|менеджер\w|коллег\w{0,2}|оператор\w|команд\w)"
    r"|internal (?:note|comment)|note to (?:self|(?:the )?(?:manager|team|staff)))\s?[:\])–—-]",
    regex.IGNORECASE | regex.MULTILINE,
    keys="заметк, примечани, комментари, пометк, internal, note to",
)
_CUSTOMERS_LINE = KeyedPattern(
    r"^\W{0,4}(?:клиент|покупатель|пользователь|клієнт|customer|user|client|human)\W{0,3}:",
    regex.I | regex.M,
    keys="клиент, покупатель, пользователь, клієнт, customer, user, client, human",
)
_OUR_LINE = KeyedPattern(r"^\W{0,4}(?:ассистент|бот|асистент|assistant|ai|bot)\W{0,3}:", regex.I | regex.M)


def plays_both_sides(text: str) -> bool:
    """A conversation that was written on, the customer's part included."""
    return _CUSTOMERS_LINE.search(text) is not None and _OUR_LINE.search(text) is not None


_ABOUT_THE_NUDGE = KeyedPattern(
    r"\b(?:my |the |your )?(?:previous|last|earlier) (?:reply|response|message|answer|turn|output) (?:was|were"
    r"|came out|came back) "
    r"(?:empty|blank|silent|missing)"
    r"|\b(?:sorry|apolog\w{2,6}) (?:for|about) (?:the |my |that )?(?:empty|blank|missing) (?:reply|response"
    r"|message|answer)"
    r"|(?:предыдущ|прошл|последн)\w{2,3} (?:ответ|сообщени)\w{0,2} (?:был\w?|оказал\w{2,3}|получил\w{2,3}) пуст"
    r"|(?:извин|прост|прошу прощения|приношу извинения)\w{0,5}[, ]{1,2}(?:пожалуйста,? )?за пуст\w{2,3} (?:ответ"
    r"|сообщени)"
    r"|попередн\w{1,3} (?:відповідь|повідомлення) (?:була|було|виявил\w{2,4}) порожн"
    r"|(?:вибач|перепрошую)\w{0,4} за порожн\w{1,3} (?:відповідь|повідомлення)",
    regex.IGNORECASE,
    keys="empty, blank, silent, missing, пуст, порожн",
)
_AFTER_A_NUDGE = KeyedPattern(
    r"\b(?:sorry|apolog\w{2,6}) (?:for|about) (?:not (?:answering|replying|responding)|the (?:silence|confusion"
    r"|hiccup|glitch))"
    r"|\b(?:as|per) (?:instructed|requested by the (?:note|system))|\b(?:system|internal) (?:note|message|instruction)"
    r"|\b(?:without|not) (?:calling|using) (?:any )?tools\b|\bplain words\b"
    r"|(?:извин|прост|прошу прощения|приношу извинения)\w{0,5}[, ]{1,2}(?:пожалуйста,? )?(?:за (?:молчание"
    r"|отсутствие ответа)|что не ответил)"
    r"|(?:системн|служебн)\w{2,3} (?:сообщени|заметк|инструкци|указани)|без (?:вызова )?инструментов|простыми словами:"
    r"|(?:вибач|перепрошую)\w{0,4}[, ]{1,2}(?:за мовчання|що не відповів)",
    regex.IGNORECASE,
)


def without_kick(text: str, *, nudged: bool) -> str | None:
    """`text` without a leading sentence about our nudge; "" where that cannot be cut out; None where there is none.

    An apology for silence is ordinary politeness unless the model has just been nudged.
    """
    found = _ABOUT_THE_NUDGE.search(text) or (_AFTER_A_NUDGE.search(text) if nudged else None)
    if found is None:
        return None
    first = split_sentences(text)[0]
    if first not in text or found.end() > text.index(first) + len(first) or len(first) > 240:
        return ""
    rest = text[text.index(first) + len(first) :].strip()
    return rest if without_kick(rest, nudged=nudged) is None else ""
