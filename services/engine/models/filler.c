/* SPDX-License-Identifier: MIT
 * filler.c - see filler.h. Where a phrase is decides whether it is filler: "please" is wherever
 * it is, "can you" only at the beginning ("How can you renew a lease?"), "thanks" only at
 * either end. A phrase in quotation marks or in a hyphenated word is never filler. */
#include "services/engine/models/filler.h"

#include "shared/text/text.h"

#include "shared/base/mem.h"

enum { TOKENS_MAX = 4096, TOKEN_MAX_BYTES = 64 };

/* clang-format off */
/* In lower case, words separated by one space; the longest of those that begin alike comes first.
 */
static const char *const polite[] = {
    "please", "pls", "plz", "plss", "plzz", "pleeease", "kindly", "bitte schön", "bitte",
    "bitteschön", "s'il vous plaît", "s'il vous plait", "s'il te plaît", "s'il te plait", "svp",
    "por favor", "porfavor", "porfa", "per favore", "per piacere", "per cortesia", "se faz favor",
    "faz favor", "alstublieft", "alsjeblieft", "a.u.b", "snälla", "er du snill", "vær så snill",
    "vær venlig", "prosím", "proszę", "molim", "vă rog", "te rog", "kérem", "kérlek", "lütfen",
    "παρακαλώ", "من فضلك", "لو سمحت", "رجاء", "بليز", "בבקשה", "لطفا", "пожалуйста", "пож",
    "плиз", "будь ласка", "моля", "कृपया", "कृपा करके", "tolong", "vui lòng", "làm ơn", NULL};

static const char *const opening[] = {
    "i would like to know", "i'd like to know", "i want to know", "i wanna know",
    "i need to know", "i was wondering if you could tell me", "i was wondering", "i wonder",
    "would you please tell me", "would you tell me", "would you please", "would you",
    "could you please tell me", "could you please", "could you tell me", "could you explain",
    "could you", "can you please tell me", "can you please", "can you tell me", "can you explain",
    "can you", "can u tell me", "can u", "do you know", "do u know", "please tell me", "tell me",
    "let me know", "explain to me", "good morning", "good afternoon", "good evening", "good day",
    "hello there", "hi there", "hey there", "hello", "hi", "hey", "ok so", "ok", "okay", "um",
    "umm", "uh", "erm", "hmm", "btw", "by the way", "quick question", "just", "actually",
    "basically", "ich würde gerne wissen", "ich würde gern wissen", "ich möchte gerne wissen",
    "ich möchte wissen", "ich wüsste gern", "ich wüsste gerne", "können sie mir bitte sagen",
    "können sie mir sagen", "könnten sie mir bitte sagen", "könnten sie mir sagen",
    "kannst du mir bitte sagen", "kannst du mir sagen", "könntest du mir sagen", "weißt du",
    "wissen sie", "sagen sie mir", "sag mir", "sag mal", "guten morgen", "guten tag",
    "guten abend", "hallo", "servus", "moin", "äh", "ähm", "übrigens", "je voudrais savoir",
    "j'aimerais savoir", "je veux savoir", "pouvez-vous me dire", "pourriez-vous me dire",
    "peux-tu me dire", "pourrais-tu me dire", "tu peux me dire", "vous pouvez me dire",
    "savez-vous", "sais-tu", "dites-moi", "dis-moi", "bonjour", "bonsoir", "salut", "coucou",
    "euh", "me gustaría saber", "quisiera saber", "quiero saber", "me puedes decir",
    "me puede decir", "puedes decirme", "puede decirme", "podrías decirme", "podría decirme",
    "sabe usted", "dime", "dígame", "digame", "buenos días", "buenas tardes", "buenas noches",
    "buenas", "hola", "vorrei sapere", "mi piacerebbe sapere", "mi sai dire", "mi può dire",
    "mi puoi dire", "puoi dirmi", "può dirmi", "potresti dirmi", "potrebbe dirmi", "dimmi",
    "mi dica", "buongiorno", "buonasera", "ciao", "gostaria de saber", "queria saber",
    "quero saber", "você pode me dizer", "pode me dizer", "pode-me dizer", "poderia me dizer",
    "podes dizer-me", "me diga", "me diz", "diga-me", "diz-me", "bom dia", "boa tarde",
    "boa noite", "olá", "ik wil graag weten", "ik zou graag willen weten", "kun je me vertellen",
    "kan je me vertellen", "kunt u mij vertellen", "weet je", "weet u", "vertel me", "zeg me",
    "goedemorgen", "goedemiddag", "goedendag", "hoi", "kan du berätta", "kan du säga",
    "jag undrar", "kan du fortelle meg", "kan du sige mig", "hej", "hei",
    "czy możesz mi powiedzieć", "czy może mi pan powiedzieć", "powiedz mi", "chciałbym wiedzieć",
    "chciałabym wiedzieć", "dzień dobry", "cześć", "dobrý den", "ahoj", "řekni mi",
    "můžete mi říct", "bună ziua", "bună", "szia", "jó napot", "bana söyler misiniz",
    "söyler misiniz", "söyler misin", "merhaba", "selam", "γεια σας", "γεια", "скажите", "скажи",
    "скажи мне", "подскажите", "подскажи", "я хотел бы знать", "хотелось бы знать",
    "здравствуйте", "добрый день", "привет", "скажіть", "добрий день", "привіт", "здравейте",
    "هل يمكنك أن تخبرني", "أخبرني", "السلام عليكم", "مرحبا", "שלום", "תגיד לי", "سلام", "नमस्ते",
    "बताइए", "xin chào", "cho tôi biết", NULL};

static const char *const closing[] = {
    "thanks in advance", "thanks a lot", "thank you very much", "thank you so much", "thank you",
    "many thanks", "thanks", "thx", "tnx", "cheers", "asap", "vielen dank im voraus",
    "vielen dank", "danke schön", "danke", "merci beaucoup", "merci d'avance", "merci",
    "muchas gracias", "gracias", "grazie mille", "grazie", "muito obrigado", "muito obrigada",
    "obrigado", "obrigada", "dank je wel", "dank je", "dank u", "bedankt", "tack så mycket",
    "mange tak", "takk", "dziękuję", "dzięki", "děkuji", "díky", "hvala", "mulțumesc", "köszönöm",
    "teşekkürler", "teşekkür ederim", "ευχαριστώ", "спасибо", "дякую", "благодаря", "شكرا جزيلا",
    "شكرا", "תודה", "धन्यवाद", "terima kasih", "cảm ơn", "ممنون", NULL};

/* Phrases of scripts that put no spaces between words; at either end of the text. */
static const char *const unspaced_front[] = {
    "请问一下", "请问", "請問一下", "請問", "请告诉我", "請告訴我", "麻烦问一下", "麻烦你告诉我", "你能告诉我", "能告诉我", "可以告诉我", "您好",
    "你好", "すみませんが", "すみません", "こんにちは", "教えてください", NULL};
static const char *const unspaced_back[] = {
    "谢谢您", "谢谢你", "谢谢", "謝謝", "多谢", "ありがとうございます", "ありがとう", "お願いします", "教えてください", "を教えてください",
    "알려 주세요", "알려주세요", "말해 주세요", "감사합니다", "부탁드립니다", NULL};

/* clang-format on */

/* --- tokens ----------------------------------------------------------------------------------- */

struct token {
    struct str text;             /* as it stands */
    char plain[TOKEN_MAX_BYTES]; /* in lower case, without marks at its end; empty: too long */
    size_t plain_n;
};

struct tokens {
    struct token *at;
    size_t n;
};

static bool takes_off(struct str *s, const char *mark)
{
    struct str what = str_of(mark);
    if (s->n < what.n || memcmp(s->at + s->n - what.n, what.at, what.n) != 0)
        return false;
    s->n -= what.n;
    return true;
}

static bool take_mark_off(struct str *s)
{
    static const char *const marks[] = {",",  ".",  "!", "?", ";", ":", "…", "，", "。", "！",
                                        "？", "、", "؟", "،", "؛", "।", "-", "–",  "—",  NULL};
    for (const char *const *mark = marks; *mark != NULL; mark++)
        if (takes_off(s, *mark))
            return true;
    return false;
}

static struct str without_marks(struct str s)
{
    while (take_mark_off(&s))
        continue;
    return s;
}

static struct str without_opening_marks(struct str s)
{
    while (str_has_prefix(s, STR("¿")) || str_has_prefix(s, STR("¡"))) {
        s.at += 2;
        s.n -= 2;
    }
    return s;
}

static void read_plain(struct token *token)
{
    struct str word = without_opening_marks(without_marks(token->text));
    struct buf b;
    if (word.n == 0 || word.n > TOKEN_MAX_BYTES / 2)
        return;
    buf_init(&b, TOKEN_MAX_BYTES * 2);
    text_put_normal(&b, word);
    for (size_t i = 0; i < b.n && token->plain_n + 1 < TOKEN_MAX_BYTES; i++) {
        bool is_curly = i + 2 < b.n && memcmp(b.at + i, "\xe2\x80\x99", 3) == 0; /* ’ */
        token->plain[token->plain_n++] = is_curly ? '\'' : b.at[i];
        i += is_curly ? 2 : 0;
    }
    buf_fini(&b);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void read_tokens(struct tokens *tokens, struct str *rest)
{
    while (tokens->n < TOKENS_MAX) {
        size_t n = 0;
        *rest = str_trim(*rest);
        while (n < rest->n && !is_space(rest->at[n]))
            n++;
        if (n == 0)
            return;
        struct token *token = &tokens->at[tokens->n++];
        token->text = (struct str){rest->at, n};
        token->plain_n = 0;
        read_plain(token);
        rest->at += n;
        rest->n -= n;
    }
}

/* How many tokens from `from` on say `phrase`; 0: they say something else. */
static size_t measure(const struct tokens *tokens, size_t from, size_t end, const char *phrase)
{
    struct str rest = str_of(phrase);
    size_t n = 0;
    for (; rest.at != NULL; n++) {
        struct str word = str_cut(&rest, ' ');
        if (from + n == end)
            return 0;
        const struct token *token = &tokens->at[from + n];
        if (!str_eq((struct str){token->plain, token->plain_n}, word))
            return 0;
    }
    return n;
}

static size_t measure_any(const struct tokens *tokens, size_t from, size_t end,
                          const char *const *phrases)
{
    size_t most = 0;
    for (; *phrases != NULL; phrases++) {
        size_t n = measure(tokens, from, end, *phrases);
        most = n > most ? n : most;
    }
    return most;
}

/* --- the ends --------------------------------------------------------------------------------- */

static size_t skip_front(const struct tokens *tokens, size_t end)
{
    size_t from = 0, n;
    do {
        n = measure_any(tokens, from, end, polite);
        if (n == 0)
            n = measure_any(tokens, from, end, opening);
        if (n == 0)
            n = measure_any(tokens, from, end, closing);
        from += n;
    } while (n > 0);
    return from;
}

enum { PHRASE_WORDS_MAX = 6 };

/* How many tokens a closing phrase has that ends at `end`; 0: none does. */
static size_t measure_back(const struct tokens *tokens, size_t from, size_t end)
{
    for (size_t n = PHRASE_WORDS_MAX; n > 0; n--)
        if (end - from >= n && (measure_any(tokens, end - n, end, closing) == n ||
                                measure_any(tokens, end - n, end, polite) == n))
            return n;
    return 0;
}

/* --- scripts without spaces ------------------------------------------------------------------- */

static struct str trim_unspaced(struct str text)
{
    bool is_changed = true;
    while (is_changed) {
        is_changed = false;
        text = str_trim(text);
        for (const char *const *phrase = unspaced_front; *phrase != NULL && !is_changed; phrase++)
            if (text.n > strlen(*phrase) && str_has_prefix(text, str_of(*phrase))) {
                text.at += strlen(*phrase);
                text.n -= strlen(*phrase);
                is_changed = true;
            }
        while (is_changed && (str_has_prefix(text, STR("，")) || str_has_prefix(text, STR("、")) ||
                              str_has_prefix(text, STR("。")) || str_has_prefix(text, STR("！")))) {
            text.at += 3;
            text.n -= 3;
        }
        struct str bare = without_marks(text);
        for (const char *const *phrase = unspaced_back; *phrase != NULL && !is_changed; phrase++)
            if (bare.n > strlen(*phrase) && takes_off(&bare, *phrase)) {
                text = bare;
                is_changed = true;
            }
    }
    return text;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The text without the marks of a question or of surprise that it ends with; of "??" or "?!!" one
 * mark is enough, which is returned in *ret_mark: "" when it asks nothing. */
static struct str without_end(struct str text, struct str *ret_mark)
{
    static const char *const marks[] = {"?", "？", "؟", "!", "！", NULL};
    enum { QUESTION_MARKS = 3 };
    *ret_mark = STR("");
    for (size_t i = 0; marks[i] != NULL; i++)
        if (takes_off(&text, marks[i])) {
            if (i < QUESTION_MARKS)
                *ret_mark = str_of(marks[i]);
            text = str_trim(text);
            i = SIZE_MAX; /* from the first one again */
        }
    return text;
}

static void put_tokens(struct buf *b, const struct tokens *tokens, size_t from, size_t end)
{
    for (size_t i = from, n; i < end; i += n) {
        n = measure_any(tokens, i, end, polite);
        if (n > 0)
            continue;
        n = 1;
        if (i > from && b->n > 0)
            buf_put_char(b, ' ');
        buf_put(b, tokens->at[i].text);
    }
}

/* Returns what was before "please" at the end. */
static struct str without_comma(struct str text)
{
    while (takes_off(&text, ",") || takes_off(&text, "，") || takes_off(&text, "،"))
        text = str_trim(text);
    return text;
}

/* Puts what was kept with a single mark at its end: its own, or that of `question`. */
static void put_whole(struct buf *b, struct str kept, struct str question)
{
    struct str mark, of_question;
    struct str bare = without_comma(without_end(kept, &mark));
    (void)without_end(str_trim(question), &of_question);
    if (without_marks(bare).n == 0) {
        buf_put(b, question);
        return;
    }
    bool asks = mark.n > 0 || of_question.n > 0;
    buf_put(b, asks ? bare : without_comma(kept));
    buf_put(b, mark.n > 0 ? mark : of_question);
}

void filler_put_without(struct buf *b, struct str question)
{
    struct tokens tokens = {.at = mem_zeroed_n(TOKENS_MAX, sizeof *tokens.at)};
    struct str rest = trim_unspaced(question);
    struct buf out;
    buf_init(&out, question.n + 1);
    read_tokens(&tokens, &rest);
    size_t end = tokens.n, from = skip_front(&tokens, end), n;
    while (rest.n == 0 && end > from && (n = measure_back(&tokens, from, end)) > 0)
        end -= n;
    put_tokens(&out, &tokens, from, end);
    if (rest.n > 0) { /* more tokens than are looked at */
        buf_put_char(&out, ' ');
        buf_put(&out, rest);
    }
    put_whole(b, buf_str(&out), question);
    buf_fini(&out);
    free(tokens.at);
}
