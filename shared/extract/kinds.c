/* SPDX-License-Identifier: MIT
 * kinds.c - the kinds of extract.h: which endings of names belong to one, and what to send instead
 * of a file that is not read. */
#include "shared/extract/extract.h"

static const char *const kind_names[EXTRACT_KIND_NR] = {
    [EXTRACT_NONE] = "none", [EXTRACT_TEXT] = "text", [EXTRACT_HTML] = "html",
    [EXTRACT_DOCX] = "docx", [EXTRACT_PDF] = "pdf",
};

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
    {".docx", EXTRACT_DOCX,
     "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {".pdf", EXTRACT_PDF, "application/pdf"},
};

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

enum extract_kind extract_kind_of(struct str name)
{
    const struct ending *ending = find_ending(name);
    return ending == NULL ? EXTRACT_NONE : ending->kind;
}

const char *extract_content_type(struct str name)
{
    const struct ending *ending = find_ending(name);
    return ending == NULL ? NULL : ending->content_type;
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
    struct str ending = name;
    char lower[8];
    for (size_t i = 0; i < name.n; i++)
        if (name.at[i] == '.')
            ending = (struct str){name.at + i + 1, name.n - i - 1};
    if (ending.n == 0 || ending.n >= sizeof lower || ending.n == name.n)
        return EXTRACT_FAULT_KIND;
    for (size_t i = 0; i < ending.n; i++)
        lower[i] = (char)(ending.at[i] | 0x20);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (str_is_listed(str_of(refused[i].endings), (struct str){lower, ending.n}))
            return refused[i].fault;
    return EXTRACT_FAULT_KIND;
}
