/* SPDX-License-Identifier: MIT
 * asked.c - see asked.h. Words are compared without case. A number word of four letters and more
 * also begins others: "eight" is in "eighteen". */
#include "services/engine/models/asked.h"

#include "shared/text/list_marks.h"
#include "shared/text/text.h"

#include <limits.h>

enum { QUESTION_MAX_BYTES = 8 << 10, WORD_MAX_BYTES = 64, PREFIX_MIN = 4, FRONT_WORDS = 2 };

/* clang-format off */
static const char *const amounts[] = {
    "how many", "how much", "how long", "how old", "how far", "how deep", "how high", "how tall",
    "how heavy", "how big", "how large", "how wide", "how fast", "how often", "wie viel",
    "wie viele", "wieviel", "wieviele", "wie lange", "wie oft", "wie hoch", "wie groß", "wie tief",
    "wie weit", "wie schwer", "wie alt", "wie teuer", "was kostet", "was kosten", "combien",
    "cuánto", "cuánta", "cuántos", "cuántas", "quanto", "quanta", "quanti", "quante", "сколько",
    NULL};
static const char *const counts[] = {
    "how many", "wie viele", "wieviele", "combien de", "cuántos", "cuántas", "quanti", "quante",
    "сколько", NULL};
static const char *const doers[] = {"who", "wer", "qui", "quién", "quien", "chi", "кто", NULL};
static const char *const weights[] = {
    "how heavy", "weigh", "weighs", "wie schwer", "wiegt", "wiegen", "pèse", "pèsent", "pesa", "pesan",
    "весит", "весят", NULL};
static const char *const lengths[] = {"how far", "how deep", "how tall", "how wide", "wie tief",
                                      "wie weit", "wie breit", NULL};
/* Words of questions for a price, and (money) of their answers. */
static const char *const prices[] = {
    "cost", "costs", "price", "prices", "expensive", "kostet", "kosten", "kostete", "preis", "teuer", "coûte", "coûtent",
    "prix", "cuesta", "cuestan", "precio", "costa", "costano", "prezzo", "стоит", "стоят", "цена", NULL};
static const char *const prices_within[] = {"多少钱", "价格", "いくら", "何円", NULL};
static const char *const money[] = {
    "euro", "eur", "pound", "gbp", "pence", "dollar", "usd", "cent", "cents", "franc", "franken", "chf",
    "crown", "krone", "kronor", "kronen", "yen", "coin", "zł", "pln", "рубл", "cost", "price", "priced",
    "charge", "fee", "fees", "fare", "fine", "rent", "pay", "pays", "paid", "payable", "kost", "preis",
    "gebühr", "zahl", "miete", "beitrag", "coût", "prix", "tarif", "payer", "paie", "payant", "frais",
    "loyer", "cuest", "precio", "tarifa", "paga", "pagan", "pagar", "cuota", "costa", "costano", "prezzo",
    "tariffa", "pagano", "quota", "стои", "цена", "платят", "билет", "free", "kostenlos", "gratis",
    "gratuit", "frei", "бесплатно", NULL};
static const char *const money_signs[] = {"€", "£", "$", "¥", "₽", "元", "円", "免费", "無料", NULL};
static const char *const times[] = {
    "when", "at what time", "what time", "by when", "since when", "until when", "from when", "wann",
    "bis wann", "ab wann", "seit wann", "quand", "cuándo", "cuando", "quando", "когда", NULL};
static const char *const ways[] = {
    "how do i", "how do we", "how do you", "how can i", "how can we", "how to", "how should i",
    "what should i do", "what do i do", "what do i have to do", "what must i do", "wie kann ich",
    "wie mache ich", "was muss ich tun", "was soll ich tun", "was ist zu tun", "comment faire",
    "comment puis", "que faire", "que dois", "cómo puedo", "qué debo hacer", "qué hago", "come si",
    "come posso", "cosa devo fare", "что делать", "как", NULL};
static const char *const way_starts[] = {"To ", "Um ", "Pour ", "Para ", "Per ", NULL};
/* Words of scripts without spaces, anywhere in the question. */
static const char *const amounts_within[] = {
    "多少", "多久", "多长", "多大", "几", "いくら", "何人", "何円", "何分", "何時間", "どのくらい", "どれくらい", NULL};
static const char *const times_within[] = {"什么时候", "何时", "几点", "いつ", "何時", NULL};
static const char *const numbers[] = {
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fifteen", "sixteen", "twenty", "thirty", "forty", "fifty", "sixty", "hundred",
    "thousand", "million", "half", "quarter", "dozen", "once", "twice", "daily", "weekly", "monthly",
    "yearly", "every", "each", "always", "never", "free", "none", "nothing", "unlimited", "no",
    "eine", "einen", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf",
    "zwölf", "zwanzig", "hundert", "tausend", "halb", "halbe", "einmal", "täglich", "wöchentlich",
    "monatlich", "jährlich", "jede", "kostenlos", "gratis", "keine", "frei", "un", "une", "deux",
    "trois", "quatre", "cinq", "sept", "huit", "neuf", "dix", "onze", "douze", "quinze", "vingt",
    "trente", "quarante", "cinquante", "soixante", "cent", "mille", "demi", "chaque", "gratuit",
    "una", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once",
    "doce", "veinte", "treinta", "cuarenta", "cincuenta", "cien", "ciento", "mil", "medio", "media",
    "cada", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci", "dodici",
    "venti", "trenta", "quaranta", "cinquanta", "cento", "mezzo", "mezza", "ogni", "gratuito",
    "один", "одна", "два", "две", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять",
    "десять", "двенадцать", "двадцать", "тридцать", "сорок", "сто", "тысяч", "каждый", "каждые",
    "бесплатно", NULL};
static const char *const units[] = {
    "second", "minute", "hour", "week", "month", "year", "days", "sekunde", "minute", "stunde",
    "woche", "monat", "jahr", "tage", "seconde", "heure", "jours", "semaine", "mois", "année",
    "segundo", "minuto", "hora", "días", "semana", "meses", "años", "secondo", "giorni",
    "settimana", "settimane", "mese", "mesi", "anno", "anni", "секунд", "минут", "час", "дней",
    "недел", "месяц", "года", NULL};
static const char *const weight_units[] = {
    "g", "mg", "kg", "t", "lb", "lbs", "gram", "kilo", "tonne", "tons", "pound", "ounce", "gramm", "pfund",
    "weight", "gewicht", "poids", "peso", "gramo", "grammi", "chili", "грамм", "кг", "тонн", NULL};
static const char *const length_units[] = {
    "mm", "cm", "m", "km", "metre", "meter", "millimet", "centimet", "kilomet", "zentimeter", "mètre",
    "inch", "inches", "foot", "feet", "mile", "yard", "metro", "centímetro", "kilómetro", "centimetr",
    "chilometr", "метр", "км", "см", NULL};
static const char *const number_signs[] = {
    "一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "百", "千", "万", "半", "两", "每", "毎", NULL};
static const char *const moments[] = {
    "before", "after", "until", "during", "while", "when", "as", "since", "january", "february",
    "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "morning", "noon", "evening", "night", "midnight", "spring", "summer", "autumn", "winter",
    "immediately", "if", "vor", "nach", "bis", "wenn", "sobald", "während", "seit", "januar",
    "februar", "märz", "mai", "juni", "juli", "oktober", "dezember", "montag", "dienstag",
    "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "morgens", "mittags", "abends",
    "avant", "après", "jusqu", "pendant", "quand", "lorsque", "janvier", "février", "mars", "avril",
    "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre", "lundi", "mardi",
    "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "antes", "después", "hasta", "durante",
    "cuando", "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
    "septiembre", "octubre", "noviembre", "diciembre", "lunes", "martes", "miércoles", "jueves",
    "viernes", "sábado", "domingo", "prima", "dopo", "fino", "quando", "gennaio", "febbraio",
    "aprile", "maggio", "giugno", "luglio", "settembre", "ottobre", "dicembre", "lunedì", "martedì",
    "mercoledì", "giovedì", "venerdì", "sabato", "domenica", "если", "после", "до", "когда", NULL};
static const char *const moment_signs[] = {"月", "日", "时", "時", "前", "后", "後", NULL};
/* clang-format on */

/* Returns whether the word, in lower case, is one of a list, or begins with a long one of it. */
static bool is_one_of(struct str word, const char *const *list)
{
    for (; *list != NULL; list++) {
        struct str known = str_of(*list);
        if (str_eq(word, known) || (known.n >= PREFIX_MIN && str_has_prefix(word, known)))
            return true;
    }
    return false;
}

static bool holds_one_of(struct str text, const char *const *list)
{
    for (; *list != NULL; list++)
        if (str_holds(text, str_of(*list)))
            return true;
    return false;
}

/* Puts the words in lower case, each with a space after it. */
static void put_words(struct buf *b, struct str text)
{
    struct text_word word;
    while (text_next_word(&text, &word)) {
        text_put_normal(b, word.here);
        buf_put_char(b, ' ');
    }
}

/* Returns whether the words hold one of a list of phrases, after `words_max` words at most. */
static bool asks_one_of(struct str words, const char *const *phrases, unsigned words_max)
{
    for (unsigned i = 0; words.n > 0 && i < words_max; i++) {
        for (const char *const *phrase = phrases; *phrase != NULL; phrase++) {
            struct str known = str_of(*phrase);
            if (str_has_prefix(words, known) && words.n > known.n && words.at[known.n] == ' ')
                return true;
        }
        (void)str_cut(&words, ' ');
    }
    return false;
}

enum asked asked_of(struct str question)
{
    struct buf words;
    enum asked asked = ASKED_ANYTHING;
    buf_init(&words, QUESTION_MAX_BYTES * 4);
    if (question.n <= QUESTION_MAX_BYTES)
        put_words(&words, question);
    /* Elsewhere "when" is "if". */
    if (asks_one_of(buf_str(&words), times, FRONT_WORDS) || holds_one_of(question, times_within))
        asked = ASKED_TIME;
    else if (asks_one_of(buf_str(&words), prices, UINT_MAX) ||
             holds_one_of(question, prices_within))
        asked = ASKED_PRICE;
    else if (asks_one_of(buf_str(&words), weights, UINT_MAX))
        asked = ASKED_WEIGHT;
    else if (asks_one_of(buf_str(&words), lengths, UINT_MAX))
        asked = ASKED_LENGTH;
    else if (asks_one_of(buf_str(&words), amounts, UINT_MAX) ||
             holds_one_of(question, amounts_within))
        asked = ASKED_AMOUNT;
    else if (asks_one_of(buf_str(&words), ways, UINT_MAX))
        asked = ASKED_WAY;
    buf_fini(&words);
    return asked;
}

bool asked_is_measured(enum asked asked)
{
    return asked != ASKED_ANYTHING && asked != ASKED_TIME && asked != ASKED_WAY;
}

/* Returns whether `words`, each with a space after it, end in one of the phrases. */
static bool end_in_one_of(struct str words, const char *const *phrases)
{
    for (; *phrases != NULL; phrases++) {
        struct str known = str_of(*phrases);
        if (words.n <= known.n)
            continue;
        size_t from = words.n - 1 - known.n;
        if (str_eq((struct str){words.at + from, known.n}, known) &&
            (from == 0 || words.at[from - 1] == ' '))
            return true;
    }
    return false;
}

static struct str word_after(struct str question, const char *const *phrases)
{
    struct text_word word;
    struct buf words;
    bool is_found = false;
    buf_init(&words, QUESTION_MAX_BYTES * 4);
    while (!is_found && !words.is_over && text_next_word(&question, &word)) {
        put_words(&words, word.here);
        is_found = end_in_one_of(buf_str(&words), phrases);
    }
    buf_fini(&words);
    return is_found && text_next_word(&question, &word) ? word.here : STR("");
}

struct str asked_counted(struct str question)
{
    return word_after(question, counts);
}

struct str asked_deed(struct str question)
{
    return word_after(question, doers);
}

static bool is_digit(struct str text, size_t i)
{
    return i < text.n && text.at[i] >= '0' && text.at[i] <= '9';
}

static bool has_digit(struct str line)
{
    size_t n = list_mark(line);
    for (size_t i = n; i < line.n; i++)
        if (is_digit(line, i))
            return true;
    return false;
}

/* Returns whether a word of the text is one of a list. */
static bool has_word(struct str text, const char *const *list)
{
    struct text_word word;
    bool is_found = false;
    struct buf lower;
    buf_init(&lower, WORD_MAX_BYTES * 4);
    while (!is_found && text_next_word(&text, &word)) {
        buf_clear(&lower);
        text_put_normal(&lower, word.here);
        is_found = !lower.is_over && is_one_of(buf_str(&lower), list);
    }
    buf_fini(&lower);
    return is_found;
}

static bool is_way(struct str text)
{
    unsigned steps = 0;
    for (const char *const *start = way_starts; *start != NULL; start++)
        if (str_has_prefix(text, str_of(*start)))
            return true;
    while (text.at != NULL && text.n > 0) {
        struct str line = str_trim(str_cut(&text, '\n'));
        steps += list_mark(line) > 0 && *line.at >= '0' && *line.at <= '9';
    }
    return steps > 1;
}

/* "20p" is a price, and so is "6.40". */
static bool ends_price(struct str text, size_t i)
{
    bool is_end = i + 1 >= text.n || strchr(" ,.;|\n", text.at[i + 1]) != NULL;
    bool is_part = i >= 2 && is_digit(text, i) && is_digit(text, i - 1) &&
                   (text.at[i - 2] == '.' || text.at[i - 2] == ',') && i >= 3;
    return is_end && ((is_part && is_digit(text, i - 3)) ||
                      (text.at[i] == 'p' && i > 0 && is_digit(text, i - 1)));
}

static bool is_price(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (ends_price(text, i))
            return true;
    return has_word(text, money) || holds_one_of(text, money_signs);
}

static bool has_number(struct str text)
{
    for (struct str rest = text; rest.at != NULL && rest.n > 0;)
        if (has_digit(str_trim(str_cut(&rest, '\n'))))
            return true;
    return has_word(text, numbers) || has_word(text, units) || holds_one_of(text, number_signs);
}

bool asked_is_said(enum asked asked, struct str text, const struct str *heads)
{
    struct str over = heads != NULL ? *heads : STR("");
    switch (asked) {
    case ASKED_ANYTHING: return true;
    case ASKED_WAY: return is_way(text);
    case ASKED_AMOUNT: return has_number(text);
    case ASKED_PRICE: return (heads != NULL || is_price(text)) && has_number(text);
    case ASKED_WEIGHT:
        return (has_word(text, weight_units) || has_word(over, weight_units)) && has_number(text);
    case ASKED_LENGTH:
        return (has_word(text, length_units) || has_word(over, length_units)) && has_number(text);
    case ASKED_TIME: break;
    }
    return has_number(text) || has_word(text, moments) || holds_one_of(text, moment_signs);
}
