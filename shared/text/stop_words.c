/* SPDX-License-Identifier: MIT
 * stop_words.c - see stop_words.h. Each list is sorted by bytes: it is searched by halves. */
#include "shared/text/stop_words.h"

#include <stdlib.h>

enum { WORD_MAX_BYTES = 24 };

static const char *const english[] = {
    "a",      "about",   "actually", "after",   "again",    "ain",      "all",       "also",
    "am",     "an",      "and",      "any",     "anyone",   "anything", "are",       "aren",
    "as",     "at",      "be",       "because", "been",     "before",   "being",     "between",
    "both",   "but",     "by",       "can",     "could",    "couldn",   "currently", "did",
    "didn",   "do",      "does",     "doesn",   "doing",    "don",      "done",      "during",
    "each",   "else",    "ever",     "every",   "exactly",  "explain",  "for",       "from",
    "get",    "gets",    "give",     "given",   "go",       "goes",     "going",     "got",
    "had",    "hadn",    "happen",   "happens", "has",      "hasn",     "have",      "haven",
    "having", "he",      "hello",    "help",    "her",      "here",     "hers",      "him",
    "his",    "how",     "i",        "if",      "im",       "in",       "into",      "is",
    "isn",    "isnt",    "it",       "its",     "just",     "know",     "let",       "like",
    "ll",     "look",    "made",     "make",    "makes",    "many",     "may",       "me",
    "mean",   "meaning", "means",    "might",   "mine",     "more",     "most",      "much",
    "must",   "my",      "need",     "needs",   "no",       "not",      "of",        "off",
    "on",     "once",    "one",      "only",    "or",       "other",    "our",       "ours",
    "out",    "over",    "own",      "per",     "please",   "possible", "rather",    "re",
    "really", "say",     "says",     "see",     "shall",    "she",      "should",    "shouldn",
    "show",   "simply",  "so",       "some",    "somebody", "someone",  "something", "still",
    "such",   "take",    "takes",    "tell",    "than",     "thank",    "thanks",    "that",
    "thats",  "the",     "their",    "theirs",  "them",     "then",     "there",     "these",
    "they",   "this",    "those",    "though",  "through",  "to",       "too",       "under",
    "until",  "up",      "upon",     "us",      "use",      "used",     "using",     "usually",
    "ve",     "very",    "want",     "was",     "wasn",     "we",       "well",      "were",
    "weren",  "what",    "whats",    "when",    "where",    "whether",  "which",     "while",
    "who",    "whom",    "whose",    "why",     "will",     "with",     "within",    "without",
    "won",    "would",   "wouldn",   "yes",     "yet",      "you",      "your",      "yours"};

static const char *const weak_english[] = {
    "address", "allowed", "amount",   "ask",       "back",        "best",       "better", "big",
    "charge",  "charged", "come",     "comes",     "condition",   "conditions", "cost",   "costs",
    "date",    "day",     "days",     "details",   "enough",      "expensive",  "far",    "fast",
    "find",    "found",   "good",     "high",      "information", "keep",       "kind",   "large",
    "last",    "lasts",   "late",     "length",    "long",        "name",       "named",  "need",
    "number",  "often",   "people",   "permitted", "person",      "place",      "price",  "purpose",
    "reason",  "reasons", "required", "rule",      "rules",       "size",       "soon",   "sort",
    "start",   "tall",    "thing",    "things",    "time",        "times",      "today",  "type",
    "way",     "work",    "working",  "works",     "year"};

static const char *const german[] = {
    "aber",       "alle",    "allem",    "allen",    "aller",   "alles",     "als",      "also",
    "am",         "an",      "andere",   "anderen",  "anderer", "anderes",   "auch",     "auf",
    "aus",        "außer",   "bedeuten", "bedeutet", "bei",     "beim",      "bekomme",  "bekommen",
    "bekommt",    "bin",     "bis",      "bist",     "bitte",   "brauche",   "braucht",  "da",
    "dabei",      "dafür",   "daher",    "damit",    "danach",  "dann",      "daran",    "darauf",
    "darf",       "darin",   "das",      "dass",     "davon",   "dazu",      "dein",     "deine",
    "deinem",     "deinen",  "deiner",   "dem",      "den",     "denn",      "der",      "deren",
    "des",        "dessen",  "dich",     "die",      "dies",    "diese",     "diesem",   "diesen",
    "dieser",     "dieses",  "dir",      "doch",     "dort",    "du",        "durch",    "dürfen",
    "eigentlich", "ein",     "eine",     "einem",    "einen",   "einer",     "eines",    "er",
    "erkläre",    "es",      "etwas",    "euch",     "euer",    "eure",      "für",      "gab",
    "geben",      "gegen",   "gehen",    "geht",     "genau",   "geschieht", "gibt",     "gilt",
    "habe",       "haben",   "habt",     "hat",      "hatte",   "hatten",    "heisst",   "heißen",
    "heißt",      "her",     "hier",     "hin",      "hinter",  "ich",       "ihm",      "ihn",
    "ihnen",      "ihr",     "ihre",     "ihrem",    "ihren",   "ihrer",     "ihres",    "im",
    "in",         "ins",     "ist",      "ja",       "jede",    "jedem",     "jeden",    "jeder",
    "jedes",      "jemand",  "kann",     "kannst",   "kommen",  "kommt",     "können",   "könnte",
    "könnten",    "machen",  "macht",    "man",      "manche",  "mehr",      "mein",     "meine",
    "meinem",     "meinen",  "meiner",   "mich",     "mir",     "mit",       "muss",     "musst",
    "möchte",     "möglich", "müssen",   "nach",     "nein",    "nicht",     "nichts",   "noch",
    "nun",        "nur",     "ob",       "oder",     "ohne",    "passieren", "passiert", "sagen",
    "sagt",       "schon",   "sehr",     "sei",      "sein",    "seine",     "seinem",   "seinen",
    "seiner",     "seit",    "sich",     "sie",      "sind",    "so",        "sobald",   "soll",
    "sollen",     "sollte",  "sollten",  "sonst",    "um",      "und",       "uns",      "unser",
    "unsere",     "unserem", "unseren",  "unserer",  "unter",   "viel",      "viele",    "vielen",
    "vom",        "von",     "vor",      "wann",     "war",     "waren",     "warum",    "was",
    "weg",        "welche",  "welchem",  "welchen",  "welcher", "welches",   "wem",      "wen",
    "wenn",       "wer",     "werde",    "werden",   "wessen",  "wie",       "wieder",   "wieso",
    "wieviel",    "will",    "wir",      "wird",     "wo",      "wofür",     "woher",    "wohin",
    "womit",      "worin",   "wurde",    "wurden",   "zu",      "zum",       "zur",      "zwischen",
    "über"};

static const char *const weak_german[] = {
    "anzahl",   "art",     "bedingung", "bedingungen",  "beginnt", "benötigt", "beträgt",
    "brauchen", "dauer",   "dauert",    "erlaubt",      "finde",   "finden",   "findet",
    "genug",    "groß",    "grund",     "größe",        "gründe",  "gut",      "heiß",
    "heute",    "hoch",    "höhe",      "jetzt",        "kosten",  "kostet",   "lang",
    "lange",    "lautet",  "liegt",     "name",         "namen",   "nummer",   "nötig",
    "oft",      "ort",     "person",    "personen",     "preis",   "regel",    "regeln",
    "schnell",  "spät",    "stehen",    "steht",        "tag",     "tage",     "teuer",
    "uhr",      "uhrzeit", "verboten",  "vorschriften", "weit",    "zahl",     "zahlen",
    "zeit",     "zurück"};

static const char *const french[] = {
    "a",        "ai",         "ainsi",     "alors",    "après",   "arrive",   "as",
    "au",       "aucun",      "aucune",    "aussi",    "autre",   "autres",   "aux",
    "avant",    "avec",       "avez",      "avoir",    "avons",   "besoin",   "bien",
    "bonjour",  "bout",       "c",         "car",      "ce",      "ceci",     "cela",
    "celle",    "celles",     "celui",     "ces",      "cet",     "cette",    "ceux",
    "chaque",   "chez",       "comme",     "comment",  "d",       "dans",     "de",
    "depuis",   "des",        "dire",      "dis",      "dit",     "dites",    "dois",
    "doit",     "doivent",    "donc",      "dont",     "du",      "elle",     "elles",
    "en",       "encore",     "entre",     "es",       "est",     "et",       "eu",
    "eux",      "exactement", "expliquez", "faire",    "fait",    "faut",     "fois",
    "font",     "il",         "ils",       "j",        "je",      "jusqu",    "l",
    "la",       "laquelle",   "le",        "lequel",   "les",     "lesquels", "leur",
    "leurs",    "lorsque",    "lui",       "là",       "m",       "ma",       "mais",
    "me",       "merci",      "mes",       "moi",      "moins",   "mon",      "même",
    "n",        "ne",         "ni",        "non",      "nos",     "notre",    "nous",
    "on",       "ont",        "ou",        "où",       "par",     "parce",    "pas",
    "passe",    "pendant",    "peu",       "peut",     "peuvent", "peux",     "plus",
    "possible", "pour",       "pourquoi",  "pouvez",   "puis",    "puisque",  "qu",
    "quand",    "que",        "quel",      "quelle",   "quelles", "quels",    "qui",
    "quoi",     "s",          "sa",        "sais",     "sans",    "se",       "sera",
    "ses",      "seulement",  "si",        "signifie", "son",     "sont",     "sous",
    "suis",     "sur",        "t",         "ta",       "te",      "tes",      "toi",
    "ton",      "toujours",   "tous",      "tout",     "toute",   "toutes",   "trouver",
    "très",     "tu",         "un",        "une",      "veut",    "veux",     "voici",
    "voilà",    "vos",        "votre",     "voudrais", "vous",    "y",        "ça",
    "étaient",  "était",      "étant",     "été",      "être"};

static const char *const weak_french[] = {
    "actuellement", "adresse",   "appelle",    "aujourd", "autorisé",  "bon",      "combien",
    "commence",     "condition", "conditions", "coûte",   "coûtent",   "coûter",   "date",
    "dure",         "durer",     "durée",      "grand",   "haut",      "heure",    "heures",
    "interdit",     "jour",      "jours",      "long",    "longtemps", "montant",  "nom",
    "nombre",       "numéro",    "nécessaire", "payer",   "permis",    "personne", "personnes",
    "place",        "prix",      "quantité",   "raison",  "raisons",   "règle",    "règles",
    "sorte",        "souvent",   "taille",     "temps",   "trouve",    "type",     "vaut"};

static const char *const spanish[] = {
    "a",         "al",     "algo",     "alguien", "alguna",   "algunas",  "alguno",   "algunos",
    "algún",     "allí",   "antes",    "aquel",   "aquella",  "aquí",     "así",      "aunque",
    "aún",       "bajo",   "bien",     "cada",    "como",     "con",      "cual",     "cuales",
    "cualquier", "cuando", "cuanta",   "cuantas", "cuanto",   "cuantos",  "cuál",     "cuáles",
    "cuándo",    "cuánta", "cuántas",  "cuánto",  "cuántos",  "cómo",     "da",       "dar",
    "de",        "debe",   "deben",    "debo",    "decir",    "del",      "desde",    "después",
    "dice",      "dime",   "donde",    "dos",     "durante",  "dónde",    "e",        "el",
    "ella",      "ellas",  "ellos",    "en",      "entonces", "entre",    "era",      "eran",
    "es",        "esa",    "esas",     "ese",     "eso",      "esos",     "esta",     "estar",
    "estas",     "este",   "esto",     "estos",   "estoy",    "está",     "están",    "estás",
    "explica",   "favor",  "fue",      "fueron",  "gracias",  "ha",       "había",    "hace",
    "hacer",     "hacia",  "haga",     "hago",    "han",      "hasta",    "hay",      "he",
    "hola",      "hoy",    "ir",       "la",      "las",      "le",       "les",      "lo",
    "los",       "me",     "mejor",    "mi",      "mis",      "mismo",    "mucha",    "mucho",
    "muchos",    "muy",    "más",      "mí",      "nada",     "necesita", "necesito", "ni",
    "no",        "nos",    "nosotros", "nuestra", "nuestro",  "o",        "ocurre",   "os",
    "otra",      "otras",  "otro",     "otros",   "para",     "pasa",     "pero",     "poco",
    "podemos",   "podría", "por",      "porque",  "puede",    "pueden",   "puedo",    "pues",
    "que",       "quien",  "quiero",   "quién",   "quiénes",  "qué",      "sabe",     "saber",
    "se",        "sea",    "según",    "ser",     "si",       "sido",     "siempre",  "significa",
    "sin",       "sino",   "sobre",    "sois",    "solo",     "somos",    "son",      "soy",
    "su",        "sucede", "sus",      "suya",    "suyo",     "sí",       "sólo",     "tal",
    "también",   "tan",    "tanto",    "te",      "tener",    "tengo",    "tiempo",   "tiene",
    "tienen",    "toda",   "todas",    "todo",    "todos",    "tu",       "tus",      "tú",
    "un",        "una",    "unas",     "uno",     "unos",     "usted",    "ustedes",  "va",
    "vamos",     "vez",    "y",        "ya",      "yo",       "él"};

static const char *const weak_spanish[] = {
    "ahora",     "alto",    "bueno",     "cantidad",  "condiciones", "condición", "costar",
    "coste",     "cuesta",  "cuestan",   "dirección", "dura",        "durar",     "día",
    "días",      "empieza", "encuentra", "fecha",     "grande",      "hora",      "horas",
    "hoy",       "largo",   "llama",     "motivo",    "necesario",   "nombre",    "norma",
    "normas",    "número",  "pagar",     "permitido", "persona",     "personas",  "precio",
    "prohibido", "regla",   "reglas",    "tamaño",    "tipo",        "vale"};

static const char *const italian[] = {
    "a",         "abbia",  "abbiamo",   "accade",  "ad",      "agli",    "ai",      "al",
    "alcuni",    "alla",   "alle",      "allo",    "altra",   "altre",   "altri",   "altro",
    "anche",     "ancora", "avere",     "avete",   "aveva",   "bisogna", "c",       "che",
    "chi",       "ci",     "cioè",      "ciò",     "col",     "come",    "con",     "contro",
    "cosa",      "così",   "cui",       "d",       "da",      "dagli",   "dai",     "dal",
    "dalla",     "dalle",  "dallo",     "degli",   "dei",     "del",     "dell",    "della",
    "delle",     "dello",  "dentro",    "deve",    "devo",    "devono",  "di",      "dice",
    "dimmi",     "dire",   "dopo",      "dove",    "due",     "durante", "e",       "ed",
    "egli",      "era",    "erano",     "essere",  "fa",      "faccio",  "fanno",   "fare",
    "favore",    "fino",   "fra",       "già",     "gli",     "ha",      "hai",     "hanno",
    "ho",        "i",      "il",        "in",      "invece",  "io",      "l",       "la",
    "le",        "lei",    "li",        "lo",      "loro",    "lui",     "ma",      "me",
    "mentre",    "mi",     "mia",       "mie",     "miei",    "mio",     "molto",   "ne",
    "nei",       "nel",    "nell",      "nella",   "nelle",   "nello",   "nessuno", "no",
    "noi",       "non",    "nostra",    "nostro",  "o",       "ogni",    "oltre",   "oppure",
    "per",       "perché", "però",      "piacere", "più",     "po",      "poco",    "poi",
    "possibile", "posso",  "possono",   "prima",   "puoi",    "può",     "qual",    "quale",
    "quali",     "quando", "quanta",    "quante",  "quanti",  "quanto",  "quella",  "quelle",
    "quelli",    "quello", "quest",     "questa",  "queste",  "questi",  "questo",  "qui",
    "sa",        "sapere", "se",        "sei",     "sempre",  "senza",   "si",      "sia",
    "siamo",     "siete",  "significa", "solo",    "sono",    "sopra",   "sotto",   "sta",
    "stata",     "stato",  "su",        "sua",     "succede", "sue",     "sugli",   "sui",
    "sul",       "sull",   "sulla",     "sulle",   "suo",     "suoi",    "te",      "tempo",
    "ti",        "tra",    "tu",        "tua",     "tuo",     "tutta",   "tutte",   "tutti",
    "tutto",     "un",     "una",       "uno",     "va",      "vi",      "voglio",  "voi",
    "vorrei",    "vostra", "vostro",    "è"};

static const char *const weak_italian[] = {
    "adesso",     "alto",       "ammontare", "buono",      "chiama",  "chiedere", "comincia",
    "condizione", "condizioni", "costa",     "costano",    "costare", "costo",    "data",
    "dura",       "durare",     "entro",     "giorni",     "giorno",  "grande",   "indirizzo",
    "inizia",     "lungo",      "motivo",    "necessario", "nome",    "numero",   "oggi",
    "ora",        "ore",        "pagare",    "permesso",   "persona", "persone",  "prezzo",
    "regola",     "regole",     "spesso",    "tipo",       "trova",   "vale",     "vietato"};

static const char *const portuguese[] = {
    "a",      "ao",      "aos",    "aquela", "aquele",  "aqui",  "as",    "até",    "cada",
    "com",    "como",    "da",     "das",    "de",      "dela",  "dele",  "depois", "desde",
    "deve",   "devo",    "diz",    "do",     "dos",     "e",     "ela",   "elas",   "ele",
    "eles",   "em",      "entre",  "era",    "essa",    "esse",  "esta",  "este",   "estou",
    "está",   "eu",      "faz",    "fazer",  "foi",     "há",    "isso",  "isto",   "já",
    "lhe",    "mais",    "mas",    "me",     "mesmo",   "meu",   "minha", "muito",  "na",
    "nas",    "nem",     "no",     "nos",    "num",     "numa",  "não",   "nós",    "o",
    "onde",   "os",      "ou",     "para",   "pela",    "pelas", "pelo",  "pelos",  "pode",
    "podem",  "por",     "porque", "posso",  "preciso", "quais", "qual",  "quando", "quantas",
    "quanto", "quantos", "que",    "quem",   "quero",   "quê",   "se",    "sem",    "ser",
    "será",   "seu",     "seus",   "sobre",  "sua",     "suas",  "são",   "só",     "também",
    "tem",    "tenho",   "ter",    "todo",   "todos",   "tu",    "tudo",  "têm",    "um",
    "uma",    "umas",    "uns",    "você",   "vocês",   "à",     "às",    "é"};

static const char *const weak_portuguese[] = {
    "condições", "custa",  "custam",  "custar", "dia",    "dias",   "dura",   "endereço",
    "grande",    "hora",   "horas",   "longo",  "motivo", "nome",   "número", "pagar",
    "permitido", "pessoa", "pessoas", "preço",  "regra",  "regras", "tipo"};

static const char *const dutch[] = {
    "aan",      "af",      "al",      "alle",   "als",    "altijd", "ander", "andere", "ben",
    "betekent", "bij",     "daar",    "dan",    "dat",    "de",     "deze",  "die",    "dit",
    "doen",     "door",    "dus",     "een",    "en",     "er",     "gaan",  "geen",   "graag",
    "haar",     "had",     "heb",     "hebben", "heeft",  "hem",    "het",   "hier",   "hij",
    "hoe",      "hoelang", "hoeveel", "hun",    "iemand", "iets",   "ik",    "in",     "is",
    "ja",       "je",      "jij",     "jou",    "jouw",   "jullie", "kan",   "krijg",  "krijgt",
    "kunnen",   "kunt",    "maar",    "mag",    "me",     "meer",   "men",   "met",    "mij",
    "mijn",     "moet",    "moeten",  "na",     "naar",   "niet",   "niets", "nog",    "nu",
    "of",       "om",      "omdat",   "ons",    "onze",   "ook",    "op",    "over",   "te",
    "tegen",    "tot",     "u",       "uit",    "uw",     "van",    "veel",  "voor",   "waar",
    "waarom",   "wanneer", "want",    "waren",  "was",    "wat",    "we",    "wel",    "welk",
    "welke",    "werd",    "wie",     "wij",    "wil",    "worden", "wordt", "zal",    "ze",
    "zich",     "zij",     "zijn",    "zo",     "zonder", "zou"};

static const char *const weak_dutch[] = {
    "aantal",  "adres",      "begint", "dag",   "dagen",      "duurt",  "groot",
    "hoog",    "kost",       "kosten", "lang",  "naam",       "nummer", "personen",
    "persoon", "plaats",     "prijs",  "reden", "regel",      "regels", "soort",
    "tijd",    "toegestaan", "uur",    "vaak",  "voorwaarden"};

struct stop_list {
    const char *const *words;
    size_t n;
};

#define LIST(words)                                                                                \
    {                                                                                              \
        words, sizeof words / sizeof *words                                                        \
    }

static const struct stop_list lists[STOP_LANGUAGE_NR] = {
    [STOP_ENGLISH] = LIST(english), [STOP_GERMAN] = LIST(german),
    [STOP_FRENCH] = LIST(french),   [STOP_SPANISH] = LIST(spanish),
    [STOP_ITALIAN] = LIST(italian), [STOP_PORTUGUESE] = LIST(portuguese),
    [STOP_DUTCH] = LIST(dutch),
};

static const struct stop_list weak_lists[STOP_LANGUAGE_NR] = {
    [STOP_ENGLISH] = LIST(weak_english), [STOP_GERMAN] = LIST(weak_german),
    [STOP_FRENCH] = LIST(weak_french),   [STOP_SPANISH] = LIST(weak_spanish),
    [STOP_ITALIAN] = LIST(weak_italian), [STOP_PORTUGUESE] = LIST(weak_portuguese),
    [STOP_DUTCH] = LIST(weak_dutch),
};

static int compare_words(const void *word, const void *entry)
{
    return strcmp(word, *(const char *const *)entry);
}

static bool is_in(const struct stop_list *list, struct str word)
{
    char own[WORD_MAX_BYTES + 1];
    if (word.n == 0 || word.n > WORD_MAX_BYTES || memchr(word.at, 0, word.n) != NULL)
        return false;
    memcpy(own, word.at, word.n);
    own[word.n] = 0;
    return bsearch(own, list->words, list->n, sizeof *list->words, compare_words) != NULL;
}

static unsigned find_in(const struct stop_list *from, struct str word)
{
    unsigned languages = 0;
    for (unsigned i = 0; i < STOP_LANGUAGE_NR; i++)
        languages |= is_in(&from[i], word) ? 1u << i : 0;
    return languages;
}

unsigned stop_words_languages(struct str word)
{
    return find_in(lists, word);
}

unsigned stop_words_weak(struct str word)
{
    return find_in(weak_lists, word);
}

size_t stop_words_phrase(struct str text)
{
    /* Longer ones before those that they begin with. */
    static const char *const phrases[] = {
        "多少钱", "多少", "多久", "什么时候", "什么", "为什么", "怎么样", "怎么",
        "如何",   "哪里", "哪个", "哪些",     "几点", "请问",   "是否",   "有没有",
        "谁",     "吗",   "呢",   "吧",       "的",   "了",     "是",     "在",
        "何時間", "何時", "何分", "何人",     "何円", "何",     "誰",     NULL};
    for (const char *const *phrase = phrases; *phrase != NULL; phrase++)
        if (str_has_prefix(text, str_of(*phrase)))
            return strlen(*phrase);
    return 0;
}
