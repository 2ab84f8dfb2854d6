/* SPDX-License-Identifier: MIT
 * encoding_labels.c - see encoding_labels.h. ICU's converters agree with the standard's indexes in
 * all but two letters of KOI8-U, one of Windows-1255, 157 of Big5 and 19 signs of GB 18030. It has
 * none for ISO-8859-16. UTF-16 that a page names in ASCII letters is UTF-8, as the standard says.
 * The last rows are not the standard's. It refuses the first three of them, because scripts could
 * be hidden in them; nothing is executed here. No browser reads the others, but old texts have
 * them. */
#include "shared/extract/encoding_labels.h"

/* clang-format off */
static const struct encoding encodings[] = {
    {" unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8 "
     "unicodefffe utf-16be csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff "
     "utf-16 utf-16le ",
     "UTF-8", false},
    {" 866 cp866 csibm866 ibm866 ",
     "ibm-866", false},
    {" csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 "
     "iso_8859-2:1987 l2 latin2 ",
     "iso-8859-2", false},
    {" csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 "
     "iso_8859-3:1988 l3 latin3 ",
     "iso-8859-3", false},
    {" csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 "
     "iso_8859-4:1988 l4 latin4 ",
     "iso-8859-4", false},
    {" csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 "
     "iso_8859-5 iso_8859-5:1988 ",
     "iso-8859-5", false},
    {" arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 "
     "iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 "
     "iso_8859-6 iso_8859-6:1987 ",
     "iso-8859-6", false},
    {" csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 "
     "iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek ",
     "iso-8859-7", false},
    {" csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 "
     "iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual csiso88598i "
     "iso-8859-8-i logical ",
     "iso-8859-8", false},
    {" csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6 ",
     "iso-8859-10", false},
    {" iso-8859-13 iso8859-13 iso885913 ",
     "iso-8859-13", false},
    {" iso-8859-14 iso8859-14 iso885914 ",
     "iso-8859-14", false},
    {" csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9 ",
     "iso-8859-15", false},
    {" cskoi8r koi koi8 koi8-r koi8_r ",
     "koi8-r", false},
    {" koi8-ru koi8-u ",
     "koi8-u", false},
    {" csmacintosh mac macintosh x-mac-roman ",
     "macintosh", false},
    {" dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874 ",
     "windows-874-2000", false},
    {" cp1250 windows-1250 x-cp1250 ",
     "windows-1250", false},
    {" cp1251 windows-1251 x-cp1251 ",
     "windows-1251", false},
    {" ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 "
     "iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii "
     "windows-1252 x-cp1252 x-user-defined ",
     "windows-1252", false},
    {" cp1253 windows-1253 x-cp1253 ",
     "windows-1253", false},
    {" cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 "
     "iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254 ",
     "windows-1254", false},
    {" cp1255 windows-1255 x-cp1255 ",
     "windows-1255", false},
    {" cp1256 windows-1256 x-cp1256 ",
     "windows-1256", false},
    {" cp1257 windows-1257 x-cp1257 ",
     "windows-1257", false},
    {" cp1258 windows-1258 x-cp1258 ",
     "windows-1258", false},
    {" x-mac-cyrillic x-mac-ukrainian ",
     "x-mac-cyrillic", false},
    {" chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 "
     "x-gbk gb18030 ",
     "gb18030", false},
    {" big5 big5-hkscs cn-big5 csbig5 x-x-big5 ",
     "big5-hkscs", false},
    {" cseucpkdfmtjapanese euc-jp x-euc-jp ",
     "euc-jp-2007", false},
    {" csiso2022jp iso-2022-jp ",
     "iso-2022-jp", true},
    {" csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis ",
     "ibm-943_P15A-2003", false},
    {" cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 "
     "ks_c_5601-1989 ksc5601 ksc_5601 windows-949 ",
     "windows-949-2000", false},
    {" csiso2022kr iso-2022-kr ", "iso-2022-kr", true},
    {" hz-gb-2312 ", "hz-gb-2312", true},
    {" iso-2022-cn iso-2022-cn-ext ", "iso-2022-cn", true},
    {" ibm852 cp852 ", "ibm-852_P100-1995", false},
    {" ibm855 cp855 ", "ibm-855_P100-1995", false},
    {" mac-centraleurope x-mac-ce ", "macos-29-10.2", false},
    {" euc-tw ", "euc-tw-2014", false},
};
/* clang-format on */

enum { LABEL_MAX_BYTES = 24 };

const struct encoding *encoding_of_label(struct str label)
{
    char wanted[LABEL_MAX_BYTES + 3] = " ";
    label = str_trim(label);
    if (label.n == 0 || label.n > LABEL_MAX_BYTES || memchr(label.at, ' ', label.n) != NULL)
        return NULL;
    for (size_t i = 0; i < label.n; i++)
        wanted[i + 1] =
            (char)(label.at[i] >= 'A' && label.at[i] <= 'Z' ? label.at[i] + 32 : label.at[i]);
    wanted[label.n + 1] = ' ';
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
        if (strstr(encodings[i].labels, wanted) != NULL)
            return &encodings[i];
    return NULL;
}

const struct encoding *encoding_of_guess(struct str name)
{
    static const char *const wider[][2] = {
        {"KOI8-R", "koi8-u"},      {"ISO-8859-13", "windows-1257"},
        {"ISO-8859-16", "latin2"}, {"UHC", "euc-kr"},
        {"JOHAB", "euc-kr"},       {"MAC-CYRILLIC", "x-mac-cyrillic"}};
    for (size_t i = 0; i < sizeof wider / sizeof *wider; i++)
        if (str_eq_nocase(name, str_of(wider[i][0])))
            return encoding_of_label(str_of(wider[i][1]));
    return encoding_of_label(name);
}
