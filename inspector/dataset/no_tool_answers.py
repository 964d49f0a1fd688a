"""Answers of an assistant that has no fitting tool, in the user's language: a table of texts, and language detection.

Kana, Hangul and Han letters determine the language by themselves. `language_of` detects the language of other texts of
60 letters or more. For shorter texts, function words are counted: the language with the most of them wins. Languages
without an answer are in the table of words too, so that Dutch is not taken for English. If no language wins, or the
language has no answer, there is no answer: never one in another language.
"""

import re
from collections.abc import Mapping
from functools import cache
from random import Random
from types import MappingProxyType

from weaklink.inspector.dataset.lint.texts import MIXED, language_of

NO_TOOL_ANSWERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "en": (
            "None of the tools that I have can do that, so I cannot answer it reliably.",
            "I have no tool for this: those on offer do other things. I would rather not guess.",
            "I cannot do that with the tools that are available to me.",
        ),
        "zh": (
            "我现有的工具都无法完成这个请求，所以无法给出可靠的回答。",
            "目前没有适合这个问题的工具，我不想随意猜测。",
        ),
        "es": (
            "Ninguna de las herramientas que tengo puede hacer eso, así que no puedo responder con seguridad.",
            "No tengo ninguna herramienta para esto y prefiero no adivinar.",
        ),
        "fr": (
            "Aucun des outils dont je dispose ne permet de faire cela, donc je ne peux pas répondre de manière fiable.",
            "Je n'ai pas d'outil pour cela et je préfère ne pas deviner.",
        ),
        "de": (
            "Keines meiner Werkzeuge kann das, deshalb kann ich darauf nicht verlässlich antworten.",
            "Dafür habe ich kein Werkzeug, und raten möchte ich nicht.",
        ),
        "pt": (
            "Nenhuma das ferramentas que tenho consegue fazer isso, por isso não posso responder com segurança.",
            "Não tenho nenhuma ferramenta para isso e prefiro não adivinhar.",
        ),
        "it": (
            "Nessuno degli strumenti che ho può farlo, quindi non posso rispondere in modo affidabile.",
            "Non ho uno strumento per questo e preferisco non tirare a indovinare.",
        ),
        "ja": (
            "手元のツールではその依頼に対応できないため、確実な回答はできません。",
            "これに使えるツールがないため、推測でお答えするのは控えます。",
        ),
        "ko": (
            "사용할 수 있는 도구로는 그 요청을 처리할 수 없어 확실하게 답변드릴 수 없습니다.",
            "이 요청에 맞는 도구가 없어 추측으로 답하지 않겠습니다.",
        ),
        "ru": (
            "Ни один из доступных мне инструментов для этого не подходит, поэтому надёжного ответа дать нельзя.",
            "У меня нет инструмента для этого, а гадать я не хочу.",
        ),
        "ar": (
            "لا تستطيع أي من الأدوات المتاحة لي القيام بذلك، لذلك لا يمكنني تقديم إجابة موثوقة.",
            "ليست لدي أداة مناسبة لهذا الطلب، وأفضّل ألا أخمّن.",
        ),
        "hi": (
            "मेरे पास उपलब्ध कोई भी टूल यह काम नहीं कर सकता, इसलिए इसका भरोसेमंद उत्तर देना संभव नहीं है।",
            "इसके लिए मेरे पास कोई टूल नहीं है और अंदाज़ा लगाना ठीक नहीं होगा।",
        ),
    }
)
"""The answers by the ISO 639-1 code of their language."""

_FUNCTION_WORDS: Mapping[str, str] = {
    "en": "the is are what how can you please me my for of to in a an i and do does will when where which at from "
    "have there much many it this",
    "es": "el la los las un una de del en que qué cómo como cuál cual cuánto cuanto cuántos cuándo dónde donde por "
    "favor para con mi me es está hay hace quiero puedes y al se sobre",
    "fr": "le la les un une des du de en que quel quelle quels quelles est qu où comment combien quand pour avec mon "
    "ma mes moi je peux tu vous il fait y a au aux dans et sur se d l s plaît",
    "de": "der die das den dem ein eine einen ist sind was wie welche welcher wo wann wer ich mir mein meine du bitte "
    "für von zu in im mit und auf es gibt viel viele kannst wird nach nicht",
    "pt": "o a os as um uma de do da em no na que qual quais como quanto quanta quantos quando onde por favor para com "
    "meu minha me é está há faz quero pode e ao se sobre você",
    "it": "il lo la i gli le un una di del della in che qual quale quali come quanto quanti quando dove per favore con "
    "mio mia mi è ci sono fa voglio puoi e al si su nel nella cosa",
    "nl": "de het een is zijn wat hoe welke waar wanneer ik mij mijn je jij kun kan voor van naar in met en op er te "
    "veel alsjeblieft weer",
    "sv": "en ett är vad hur vilken var när jag mig min du kan för av till i med och på det den finns mycket många",
    "da": "en et er hvad hvordan hvilken hvor hvornår jeg mig min du kan for af til i med og på det den der meget",
    "no": "en et er hva hvordan hvilken hvor når jeg meg min du kan for av til i med og på det den mye været",
    "ca": "el la els les un una de del en que què com quin quina quan on per si us plau amb meu em és hi ha i al",
    "ro": "un o de la în in ce cum care cât când unde pentru cu meu mea îmi este sunt și si pe din",
    "pl": "co jak jaka jaki jest są gdzie kiedy ile w we na do z i dla mi mój moja czy się to o proszę",
    "cs": "co jak jaké jaká je jsou kde kdy kolik v ve na do z a pro mi můj moje se to o prosím",
    "hu": "a az egy mi milyen hogy hogyan hol mikor mennyi van vannak és nekem kérem ban ben lesz",
    "fi": "mikä mitä miten missä milloin kuinka on ovat ja minä minun paljon onko se",
    "tr": "ne nasıl hangi nerede zaman kaç bir ve için bu şu bana benim mi mı var ile lütfen",
    "id": "apa bagaimana berapa di ke dari yang untuk dan ini itu saya ada mana kapan tolong dengan",
    "vi": "là gì như thế nào ở của cho tôi có bao nhiêu và khi đâu",
    "ru": "что как какая какой какие каков где когда сколько в на и для мне мой моя моё не по с у это можно ли из о "
    "будет пожалуйста",
    "uk": "що як яка який які де коли скільки в у на і й та для мені мій моя не по з це чи із про буде ласка",
    "bg": "какво как каква какъв кои къде кога колко е са в на и за ми моят не по с това ли от ще моля",
    "sr": "шта како какво који где кад када колико је су у на и за ми мој не по са то ли од хоће молим",
    "ar": "ما ماذا هو هي في من على عن كم كيف هل إلى أن متى أين لي هذا هذه أريد مع يا التي الذي",
    "fa": "چه است در از به را که چند چگونه آیا برای من می این کجا کی با و لطفا چقدر",
    "ur": "کیا ہے میں کا کی کے سے کو کیسے کتنے کتنا کہاں کب مجھے اور پر لیے",
    "hi": "क्या है हैं में का की के से को कैसा कैसे कैसी कितना कितने कितनी कहाँ कब मुझे मेरा मेरी पर और लिए यह",
    "mr": "काय आहे आहेत मध्ये चा ची चे ला कसे कसा किती कुठे कधी मला माझा आणि साठी हे",
    "ne": "के छ छन् मा को कसरी कति कहाँ कहिले मलाई मेरो र लागि यो",
}
_APART = re.compile(r"[\s'’.,?!।؟:;\"()¿¡«»،…/-]+")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7af]")
_HAN = re.compile("[\u4e00-\u9fff]")


def no_tool_answer(question: str, draw: Random) -> str | None:
    """An answer in the language of the question; None if its language is uncertain, or has no text."""
    texts = NO_TOOL_ANSWERS.get(language_of_question(question) or "")
    return draw.choice(texts) if texts else None


def language_of_question(question: str) -> str | None:
    """The ISO 639-1 code of a text that may be a few words long; None if the language is uncertain."""
    if _KANA.search(question):
        return "ja"
    if _HANGUL.search(question):
        return "ko"
    if _HAN.search(question):
        return "zh"
    long = language_of(question)
    if long is not None:
        return None if long == MIXED else long
    words = {word for word in _APART.split(question.casefold()) if word}
    counts = sorted(((len(words & known), code) for code, known in _words().items()), reverse=True)
    (most, code), (next_most, _) = counts[:2]
    return code if most > next_most else None


@cache
def _words() -> Mapping[str, frozenset[str]]:
    return {code: frozenset(words.split()) for code, words in _FUNCTION_WORDS.items()}
