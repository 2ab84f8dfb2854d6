/* SPDX-License-Identifier: MIT
 * kinds.c - the kinds of extract.h: which endings of names belong to one, and what to send instead
 * of a file that is not read. */
#include "shared/extract/extract.h"

enum { ENDING_MAX_BYTES = 16 };

static const char *const kind_names[EXTRACT_KIND_NR] = {
    [EXTRACT_NONE] = "none", [EXTRACT_TEXT] = "text", [EXTRACT_HTML] = "html",
    [EXTRACT_DOCX] = "docx", [EXTRACT_PDF] = "pdf",   [EXTRACT_PPTX] = "pptx",
    [EXTRACT_XLSX] = "xlsx", [EXTRACT_ODT] = "odt",   [EXTRACT_ODS] = "ods",
    [EXTRACT_ODP] = "odp",   [EXTRACT_EPUB] = "epub", [EXTRACT_RTF] = "rtf",
    [EXTRACT_CSV] = "csv",   [EXTRACT_JSON] = "json", [EXTRACT_XML] = "xml",
    [EXTRACT_EML] = "eml",
};

#define OPEN_XML "application/vnd.openxmlformats-officedocument."

struct ending {
    const char *text;
    enum extract_kind kind;
    const char *content_type;
};

static const struct ending endings[] = {
    {".txt", EXTRACT_TEXT, "text/plain"},
    {".text", EXTRACT_TEXT, "text/plain"},
    {".md", EXTRACT_TEXT, "text/markdown"},
    {".markdown", EXTRACT_TEXT, "text/markdown"},
    {".html", EXTRACT_HTML, "text/html"},
    {".htm", EXTRACT_HTML, "text/html"},
    {".xhtml", EXTRACT_HTML, "text/html"},
    {".docx", EXTRACT_DOCX, OPEN_XML "wordprocessingml.document"},
    {".docm", EXTRACT_DOCX, "application/vnd.ms-word.document.macroEnabled.12"},
    {".pdf", EXTRACT_PDF, "application/pdf"},
    {".pptx", EXTRACT_PPTX, OPEN_XML "presentationml.presentation"},
    {".pptm", EXTRACT_PPTX, "application/vnd.ms-powerpoint.presentation.macroEnabled.12"},
    {".ppsx", EXTRACT_PPTX, OPEN_XML "presentationml.slideshow"},
    {".xlsx", EXTRACT_XLSX, OPEN_XML "spreadsheetml.sheet"},
    {".xlsm", EXTRACT_XLSX, "application/vnd.ms-excel.sheet.macroEnabled.12"},
    {".odt", EXTRACT_ODT, "application/vnd.oasis.opendocument.text"},
    {".ods", EXTRACT_ODS, "application/vnd.oasis.opendocument.spreadsheet"},
    {".odp", EXTRACT_ODP, "application/vnd.oasis.opendocument.presentation"},
    {".epub", EXTRACT_EPUB, "application/epub+zip"},
    {".rtf", EXTRACT_RTF, "application/rtf"},
    {".csv", EXTRACT_CSV, "text/csv"},
    {".tsv", EXTRACT_CSV, "text/tab-separated-values"},
    {".json", EXTRACT_JSON, "application/json"},
    {".jsonl", EXTRACT_JSON, "application/jsonl"},
    {".ndjson", EXTRACT_JSON, "application/x-ndjson"},
    {".xml", EXTRACT_XML, "application/xml"},
    {".eml", EXTRACT_EML, "message/rfc822"},
};

/* Logs, settings and other texts, and source code: both are text/plain; separated by commas. */
static const char text_endings[] =
    "log,ini,conf,cfg,toml,yaml,yml,properties,tex,bib,rst,adoc,asciidoc,org,srt,vtt,ics,vcf";
static const char code_endings[] =
    "diff,patch,c,h,cc,cpp,cxx,hh,hpp,cs,java,kt,kts,scala,groovy,gradle,go,rs,swift,m,mm,py,rb,pl,"
    "pm,"
    "php,js,mjs,cjs,jsx,ts,tsx,vue,svelte,lua,sh,bash,zsh,fish,ps1,bat,cmd,sql,r,jl,hs,ml,erl,ex,"
    "exs,"
    "clj,lisp,el,dart,zig,nim,f90,pas,asm,s,v,vhd,css,scss,less,cmake,mk,proto,graphql,tf,nix";

static const struct ending *find_ending(struct str name)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct str ending = str_of(endings[i].text);
        if (name.n > ending.n &&
            str_eq_nocase((struct str){name.at + name.n - ending.n, ending.n}, ending))
            return &endings[i];
    }
    return NULL;
}

/* Returns whether the ending of a name, in any case, is one of a list. */
static bool ends_in_one_of(struct str name, const char *endings_listed)
{
    size_t n = 0;
    char lower[ENDING_MAX_BYTES];
    while (n < name.n && name.at[name.n - n - 1] != '.')
        n++;
    if (n == 0 || n + 1 >= name.n || n > sizeof lower)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = name.at[name.n - n + i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return str_is_listed(str_of(endings_listed), (struct str){lower, n});
}

bool extract_is_code(struct str name)
{
    return ends_in_one_of(name, code_endings);
}

static bool is_plain_text(struct str name)
{
    return ends_in_one_of(name, text_endings) || extract_is_code(name);
}

enum extract_kind extract_kind_of(struct str name)
{
    const struct ending *ending = find_ending(name);
    if (ending != NULL)
        return ending->kind;
    return is_plain_text(name) ? EXTRACT_TEXT : EXTRACT_NONE;
}

const char *extract_content_type(struct str name)
{
    const struct ending *ending = find_ending(name);
    if (ending != NULL)
        return ending->content_type;
    return is_plain_text(name) ? "text/plain" : NULL;
}

const char *extract_kind_name(enum extract_kind kind)
{
    return kind_names[kind < EXTRACT_KIND_NR ? kind : EXTRACT_NONE];
}

enum extract_kind extract_kind_named(struct str word)
{
    for (int kind = EXTRACT_NONE + 1; kind < EXTRACT_KIND_NR; kind++)
        if (str_eq(word, str_of(kind_names[kind])))
            return (enum extract_kind)kind;
    return EXTRACT_NONE;
}

/* Raise that of a kind with each change by which a file gives another text or other pages. EPUB and
 * EML hold files of other kinds: theirs rise with those of HTML, and with those of attachments. */
static const unsigned readers_versions[EXTRACT_KIND_NR] = {
    [EXTRACT_TEXT] = 1, [EXTRACT_HTML] = 5, [EXTRACT_DOCX] = 3, [EXTRACT_PDF] = 4,
    [EXTRACT_PPTX] = 1, [EXTRACT_XLSX] = 1, [EXTRACT_ODT] = 2,  [EXTRACT_ODS] = 2,
    [EXTRACT_ODP] = 2,  [EXTRACT_EPUB] = 5, [EXTRACT_RTF] = 2,  [EXTRACT_CSV] = 1,
    [EXTRACT_JSON] = 1, [EXTRACT_XML] = 1,  [EXTRACT_EML] = 4,
};

unsigned extract_readers_version(enum extract_kind kind)
{
    return readers_versions[kind < EXTRACT_KIND_NR ? kind : EXTRACT_NONE];
}

struct refused {
    enum extract_fault fault;
    const char *endings; /* separated by commas */
};

static const struct refused refused[] = {
    {EXTRACT_FAULT_OLD_OFFICE, "doc,dot,xls,xlt,ppt,pps,pot"},
    {EXTRACT_FAULT_KIND_OFFICE,
     "pages,numbers,key,wpd,wps,pub,one,vsd,vsdx,msg,mobi,azw,azw3,djvu,ps,xps"},
    {EXTRACT_FAULT_KIND_IMAGE, "png,jpg,jpeg,gif,tif,tiff,bmp,webp,heic,svg"},
    {EXTRACT_FAULT_KIND_ARCHIVE, "zip,gz,tgz,tar,bz2,xz,zst,7z,rar,jar,iso"},
    {EXTRACT_FAULT_KIND_MEDIA, "mp3,m4a,wav,ogg,flac,mp4,m4v,mov,avi,mkv,webm"},
};

enum extract_fault extract_refusal(struct str name)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (ends_in_one_of(name, refused[i].endings))
            return refused[i].fault;
    return EXTRACT_FAULT_KIND;
}
