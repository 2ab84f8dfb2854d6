/* SPDX-License-Identifier: MIT
 * extract.c - see extract.h. The reader of HTML is no parser: it knows tags, comments, scripts and
 * the commonest entities, which is enough for text to search in. PDF is the one format where
 * hostile files are dangerous, so another process reads it. */
#include "shared/rag/extract.h"

#include "shared/base/clock.h"
#include "shared/rag/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PDF_SECONDS = 60,
    PDF_MEMORY_BYTES = 1 << 30,
    READ_STEP_BYTES = 65536,
    POLL_MS = 200,
};

enum extract_kind extract_kind_of(struct str name)
{
    static const struct {
        const char *ending;
        enum extract_kind kind;
    } kinds[] = {{".txt", EXTRACT_TEXT},      {".text", EXTRACT_TEXT}, {".md", EXTRACT_TEXT},
                 {".markdown", EXTRACT_TEXT}, {".html", EXTRACT_HTML}, {".htm", EXTRACT_HTML},
                 {".xhtml", EXTRACT_HTML},    {".pdf", EXTRACT_PDF}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct str ending = str_of(kinds[i].ending);
        if (name.n > ending.n &&
            str_eq_nocase((struct str){name.at + name.n - ending.n, ending.n}, ending))
            return kinds[i].kind;
    }
    return EXTRACT_NONE;
}

void extract_put_clean(struct buf *text, struct str s)
{
    uint32_t c;
    if (str_has_prefix(s, STR("\xef\xbb\xbf")))
        s = (struct str){s.at + 3, s.n - 3};
    for (size_t step; (step = text_char(s, &c)) != 0; s.at += step, s.n -= step) {
        struct str bytes = {s.at, step};
        if (c == '\r') {
            if (s.n < 2 || s.at[1] != '\n')
                buf_put_char(text, '\n');
        } else if (c == '\f') {
            buf_lit(text, "\n\n");
        } else if (c >= 0x20 || c == '\n' || c == '\t') {
            buf_put(text, str_is_utf8(bytes) ? bytes : STR("\xef\xbf\xbd"));
        }
    }
}

/* ---- HTML ---- */

static bool is_tag(struct str tag, const char *name)
{
    size_t n = strlen(name);
    return tag.n >= n && strncasecmp(tag.at, name, n) == 0 &&
           (tag.n == n || strchr(" \t\r\n/>", tag.at[n]) != NULL);
}

static const char *find_nocase(struct str s, const char *needle)
{
    size_t n = strlen(needle);
    for (size_t i = 0; i + n <= s.n; i++)
        if (strncasecmp(s.at + i, needle, n) == 0)
            return s.at + i;
    return NULL;
}

/* What a tag leaves behind in the text. */
static struct str tag_gap(struct str tag)
{
    static const char *const paragraphs[] = {
        "p",     "h1",      "h2",      "h3",  "h4",         "h5",     "h6",     "ul",   "ol",
        "table", "section", "article", "pre", "blockquote", "header", "footer", "title"};
    static const char *const lines[] = {"br", "div", "li", "tr", "dt", "dd", "hr", "option"};
    if (tag.n > 0 && *tag.at == '/')
        tag = (struct str){tag.at + 1, tag.n - 1};
    for (size_t i = 0; i < sizeof paragraphs / sizeof *paragraphs; i++)
        if (is_tag(tag, paragraphs[i]))
            return STR("\n\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (is_tag(tag, lines[i]))
            return STR("\n");
    return is_tag(tag, "td") || is_tag(tag, "th") ? STR(" ") : STR("");
}

/* Steps over what starts at `s.at[0] == '<'` and returns its length. */
static size_t skip_tag(struct str s, struct str *ret_gap)
{
    static const char *const hidden[] = {"script", "style", "head", "noscript", "template", "svg"};
    const char *end;
    *ret_gap = STR("");
    if (str_has_prefix(s, STR("<!--"))) {
        end = memmem(s.at, s.n, "-->", 3);
        return end == NULL ? s.n : (size_t)(end + 3 - s.at);
    }
    struct str tag = {s.at + 1, s.n - 1};
    /* "a < b" is text. */
    if (tag.n == 0 || !(*tag.at == '/' || *tag.at == '!' || *tag.at == '?' ||
                        ((*tag.at | 32) >= 'a' && (*tag.at | 32) <= 'z')))
        return 0;
    end = memchr(tag.at, '>', tag.n);
    if (end == NULL)
        return s.n;
    *ret_gap = tag_gap((struct str){tag.at, (size_t)(end - tag.at)});
    size_t length = (size_t)(end + 1 - s.at);
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        char closing[16] = "</";
        if (!is_tag((struct str){tag.at, (size_t)(end - tag.at)}, hidden[i]))
            continue;
        strcat(closing, hidden[i]);
        const char *close = find_nocase((struct str){s.at + length, s.n - length}, closing);
        return close == NULL ? s.n : (size_t)(close - s.at);
    }
    return length;
}

static void put_code(struct buf *text, uint32_t c)
{
    char bytes[4];
    size_t n = 0;
    if (c < 0x80) {
        bytes[n++] = (char)c;
    } else if (c < 0x800) {
        bytes[n++] = (char)(0xc0 | c >> 6);
        bytes[n++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        bytes[n++] = (char)(0xe0 | c >> 12);
        bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (c & 0x3f));
    } else {
        bytes[n++] = (char)(0xf0 | c >> 18);
        bytes[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (c & 0x3f));
    }
    extract_put_clean(text, (struct str){bytes, n});
}

/* Puts the character that an entity at `s.at[0] == '&'` names; returns its length, 0 if unknown. */
static size_t put_entity(struct buf *text, struct str s)
{
    static const struct {
        const char *name, *is;
    } entities[] = {
        {"amp", "&"},         {"lt", "<"},          {"gt", ">"},         {"quot", "\""},
        {"apos", "'"},        {"nbsp", " "},        {"ndash", "\u2013"}, {"mdash", "\u2014"},
        {"hellip", "\u2026"}, {"rsquo", "\u2019"},  {"lsquo", "\u2018"}, {"rdquo", "\u201d"},
        {"ldquo", "\u201c"},  {"auml", "\u00e4"},   {"ouml", "\u00f6"},  {"uuml", "\u00fc"},
        {"szlig", "\u00df"},  {"eacute", "\u00e9"}, {"copy", "\u00a9"},  {"euro", "\u20ac"}};
    const char *end = memchr(s.at, ';', s.n < 12 ? s.n : 12);
    if (end == NULL || end == s.at + 1)
        return 0;
    struct str name = {s.at + 1, (size_t)(end - s.at - 1)};
    size_t length = name.n + 2;
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (str_eq(name, str_of(entities[i].name))) {
            buf_put(text, str_of(entities[i].is));
            return length;
        }
    if (*name.at != '#' || name.n < 2)
        return 0;
    bool is_hex = (name.at[1] | 32) == 'x';
    uint32_t code = 0;
    for (size_t i = is_hex ? 2 : 1; i < name.n; i++) {
        char c = name.at[i];
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
                         : is_hex && (c | 32) >= 'a' && (c | 32) <= 'f'
                             ? (uint32_t)((c | 32) - 'a') + 10
                             : UINT32_MAX;
        if (digit == UINT32_MAX || code > 0x10ffff)
            return 0;
        code = code * (is_hex ? 16 : 10) + digit;
    }
    if (code < 0x20 || code > 0x10ffff)
        return 0;
    put_code(text, code);
    return length;
}

/* Puts text with runs of blanks as one, and at most one empty line in a row. */
static void put_flowing(struct buf *text, const struct buf *rough)
{
    size_t newlines = 2; /* as if an empty line stood before: none at the start */
    bool is_gap = false;
    for (size_t i = 0; i < rough->n; i++) {
        char c = rough->at[i];
        if (c == '\n') {
            is_gap = false;
            if (newlines++ < 2)
                buf_put_char(text, '\n');
        } else if (c == ' ' || c == '\t') {
            is_gap = true;
        } else {
            if (is_gap && newlines == 0)
                buf_put_char(text, ' ');
            buf_put_char(text, c);
            is_gap = false;
            newlines = 0;
        }
    }
}

void extract_put_html(struct buf *text, struct str html)
{
    struct buf rough;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    while (html.n > 0 && !rough.is_over) {
        struct str gap = STR("");
        size_t n = *html.at == '<'   ? skip_tag(html, &gap)
                   : *html.at == '&' ? put_entity(&rough, html)
                                     : 0;
        buf_put(&rough, gap);
        if (n == 0) {
            uint32_t c;
            n = text_char(html, &c);
            if (c == '\n' || c == '\r' || c == '\t')
                buf_put_char(&rough, ' ');
            else
                extract_put_clean(&rough, (struct str){html.at, n});
        }
        html = (struct str){html.at + n, html.n - n};
    }
    put_flowing(text, &rough);
    buf_fini(&rough);
}

/* ---- PDF ---- */

static void run_pdftotext(const char *path, int out)
{
    int null = open("/dev/null", O_RDWR);
    struct rlimit seconds = {PDF_SECONDS, PDF_SECONDS},
                  memory = {PDF_MEMORY_BYTES, PDF_MEMORY_BYTES};
    struct rlimit file = {0, 0};
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close_range(3, ~0u, 0);
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_FSIZE, &file);
    setrlimit(RLIMIT_CORE, &file);
    /* "-" and names that begin with one are flags to it; an absolute or "./" path never is. */
    execlp("pdftotext", "pdftotext", "-q", "-enc", "UTF-8", path, "-", (char *)NULL);
    _exit(127);
}

/* Reads until the end, the limit or the deadline; true at the end. */
static bool read_output(int fd, uint64_t deadline_ms, const atomic_bool *is_stopping,
                        struct buf *out)
{
    while (clock_mono_ms() < deadline_ms && (is_stopping == NULL || !atomic_load(is_stopping))) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, POLL_MS) <= 0)
            continue;
        char *at = buf_reserve(out, READ_STEP_BYTES);
        ssize_t n = at == NULL ? 0 : read(fd, at, READ_STEP_BYTES);
        if (n <= 0)
            return true;
        out->n += (size_t)n;
    }
    return false;
}

static bool extract_pdf(const char *path, const atomic_bool *is_stopping, struct buf *text,
                        const char **ret_reason)
{
    int pipes[2], status = 0;
    struct buf out;
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        *ret_reason = "no descriptors left";
        return false;
    }
    pid_t child = fork();
    if (child == 0)
        run_pdftotext(path, pipes[1]);
    close(pipes[1]);
    buf_init(&out, EXTRACT_TEXT_MAX_BYTES + READ_STEP_BYTES);
    bool is_read =
        child > 0 && read_output(pipes[0], clock_mono_ms() + PDF_SECONDS * 1000, is_stopping, &out);
    close(pipes[0]);
    if (child > 0) {
        if (!is_read || out.is_over)
            kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    bool is_good = is_read && (out.is_over || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    if (is_good)
        extract_put_clean(text, buf_str(&out));
    else
        *ret_reason = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127
                          ? "pdftotext is not installed (package poppler-utils)"
                          : "pdftotext could not read it within its limits";
    buf_fini(&out);
    return is_good;
}

bool extract_text(enum extract_kind kind, struct str bytes, const char *path,
                  const atomic_bool *is_stopping, struct buf *text, const char **ret_reason)
{
    size_t before = text->n;
    *ret_reason = "it is of no kind that is read here";
    switch (kind) {
    case EXTRACT_NONE: return false;
    case EXTRACT_TEXT: extract_put_clean(text, bytes); break;
    case EXTRACT_HTML: extract_put_html(text, bytes); break;
    case EXTRACT_PDF:
        if (!extract_pdf(path, is_stopping, text, ret_reason))
            return false;
        break;
    }
    *ret_reason = "it holds no text";
    return text->n > before && str_trim((struct str){text->at + before, text->n - before}).n > 0;
}
