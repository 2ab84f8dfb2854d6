/* SPDX-License-Identifier: MIT
 * test_extract_encoding.c - shared/extract/encoding.h and html_charset.h: texts and pages of many
 * encodings, named rightly, wrongly or not at all. The C library's iconv writes most of them, which
 * shares nothing with the libraries that read them. */
#include "shared/extract/encoding.h"
#include "shared/extract/html_charset.h"
#include "tests/unit/extract_fixture.h"

#include <iconv.h>

static void a_file_is_read_in_the_encoding_that_it_has(void **state)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"one-nul.txt", "Filter: 40 hours.\nOil: 90 hours.\n"},
        {"utf16le-no-bom.txt", "Change the filter every 40 hours.\n"},
        {"utf32-bom.txt", "Filter: 40 hours"},
        {"windows-1251.txt", "Насос меняют каждые три года.\n"},
        {"windows-1252.txt", "Die Prüfung kostet 40 € – größere Geräte 55 €.\n"},
        {"charset-spaces.html", "# Pump\n\nНасос меняют."},
        {"iso-2022-jp.html", "# Pump\n\n冷却水を交換します"},
        {"label-gb2312-is-gbk.html", "# Pump\n\n朱镕基检查水泵"},
        {"label-shift_jis-is-cp932.html", "# Pump\n\n①髙橋が点検"},
        {"label-x-sjis.html", "# Pump\n\n冷却水を交換します"},
        {"latin1-is-1252.html", "# Pump\n\n“Pump” – 40 €"},
        {"no-charset-1252.html", "# Pump\n\n“Pump” – 40 €"},
        {"utf16le-no-bom.html", "# Pump\n\nPump: 40 bar."},
        {"utf8-named-by-script.html", "# Pump\n\nНасос меняют каждые три года."},
        {"utf8-named-in-text.html", "# Pump\n\nUTF-8 wäre besser."},
        {"xml-declaration.xhtml", "# Pump\n\nНасос меняют."},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[256];
        snprintf(path, sizeof path, "encodings/%s", files[i].name);
        expect_of(path, extract_kind_of(str_of(path)), read_fixture(path), files[i].text);
    }
    assert_int_equal(extract_sniff(EXTRACT_TEXT, read_fixture("encodings/odd-utf16.txt")),
                     EXTRACT_FAULT_NOT_TEXT);
}

/* ---- encodings of iconv ---- */

static const char
    german[] = "Vor dem Öffnen des Gehäuses muss der Druck vollständig abgelassen "
               "werden.\nÄußere Schäden können durch Frost oder Hitze entstehen.\n",
    russian[] = "Перед открытием крышки необходимо отключить питание и подождать пять "
                "минут.\nНасос меняют каждые три года.\n",
    polish[] = "Filtr należy wymieniać co trzy miesiące, a olej co sześć.\nPracownicy "
               "mogą zgłaszać wnioski o urlop do końca każdego miesiąca.\n",
    greek[] = "Πριν ανοίξετε το καπάκι, κλείστε το ρεύμα και περιμένετε πέντε λεπτά.\n",
    turkish[] = "Kapağı açmadan önce elektriği kesin ve beş dakika bekleyin; ışık "
                "sönmelidir.\n",
    hebrew[] = "לפני פתיחת המכסה יש לנתק את החשמל ולהמתין חמש דקות.\n",
    arabic[] = "قبل فتح الغطاء يجب فصل التيار الكهربائي والانتظار خمس دقائق.\n",
    thai[] = "ก่อนเปิดฝาต้องปิดไฟและรอห้านาที\n",
    japanese[] = "カバーを開ける前に電源を切り、五分間お待ちください。\n冷却水を交換します。\n",
    chinese[] = "打开盖子之前，请关闭电源并等待五分钟。\n水泵每三年更换一次。\n",
    traditional[] = "打開蓋子之前，請關閉電源並等待五分鐘。\n水泵每三年更換一次。\n",
    digits[] = "Time,Bid\n21:00:15,1.08\n21:00:16,1.09\n20:01:02,1.10\n",
    korean[] = "덮개를 열기 전에 전원을 끄고 오 분 동안 기다려 주십시오.\n";

struct sample {
    const char *encoding, *text;
};
static const struct sample samples[] = {
    {"UTF-8", russian},        {"UTF-16LE", german},     {"UTF-16BE", russian},
    {"UTF-16LE", japanese},    {"UTF-16BE", chinese},    {"UTF-32LE", russian},
    {"UTF-32BE", german},      {"WINDOWS-1252", german}, {"ISO-8859-1", german},
    {"ISO-8859-15", german},   {"WINDOWS-1250", polish}, {"ISO-8859-2", polish},
    {"WINDOWS-1251", russian}, {"KOI8-R", russian},      {"ISO-8859-5", russian},
    {"CP866", russian},        {"WINDOWS-1253", greek},  {"ISO-8859-7", greek},
    {"WINDOWS-1254", turkish}, {"WINDOWS-1255", hebrew}, {"WINDOWS-1256", arabic},
    {"CP874", thai},           {"SHIFT_JIS", japanese},  {"EUC-JP", japanese},
    {"ISO-2022-JP", japanese}, {"GBK", chinese},         {"GB18030", chinese},
    {"BIG5", traditional},     {"EUC-KR", korean},       {"CP949", korean},
    {"ISO-2022-KR", korean},   {"CP852", polish},        {"IBM855", russian},
    {"EUC-TW", traditional},   {"UTF-16BE", digits},     {"UTF-16LE", digits},
};

static struct str encode(const char *encoding, const char *utf8)
{
    iconv_t converter = iconv_open(encoding, "UTF-8");
    assert_true(converter != (iconv_t)-1);
    buf_clear(&fixture);
    size_t from_n = strlen(utf8), room = from_n * 4 + 16, to_n = room;
    char *from = (char *)(uintptr_t)utf8, *to = buf_reserve(&fixture, room);
    assert_int_equal(iconv(converter, &from, &from_n, &to, &to_n), 0);
    assert_int_equal(iconv(converter, NULL, NULL, &to, &to_n), 0);
    iconv_close(converter);
    fixture.n = room - to_n;
    return buf_str(&fixture);
}

static void a_text_that_names_no_encoding_is_read(void **state)
{
    for (size_t i = 0; i < COUNT(samples); i++)
        expect_of(samples[i].encoding, EXTRACT_TEXT, encode(samples[i].encoding, samples[i].text),
                  samples[i].text);
}

static void a_page_is_read_in_the_encoding_that_it_names(void **state)
{
    for (size_t i = 0; i < COUNT(samples); i++) {
        char page[1024], expected[1024];
        const char *encoding = samples[i].encoding;
        bool is_wide = strncmp(encoding, "UTF-", 4) == 0;
        int n = (int)strcspn(samples[i].text, "\n");
        snprintf(page, sizeof page,
                 "<title>x</title><!-- <meta charset=utf-8> --><p>%.*s</p>"
                 "<meta charset=\"%s\">",
                 n, samples[i].text, is_wide ? "utf-8" : encoding);
        snprintf(expected, sizeof expected, "# x\n\n%.*s", n, samples[i].text);
        expect_of(encoding, EXTRACT_HTML, encode(encoding, page), expected);
    }
}

/* ---- labels ---- */

static void a_label_is_known_as_the_standard_has_it(void **state)
{
    static const char *const known[] = {"utf8",    " Latin1 ",   "x-sjis", "ks_c_5601-1987",
                                        "GB2312",  "cp1251",     "l2",     "iso-8859-1",
                                        "dos-874", "csisolatin9"};
    static const char *const unknown[] = {"",
                                          " ",
                                          "utf-7",
                                          "latin1 latin2",
                                          "../../x",
                                          "cp437",
                                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(encoding_is_known(str_of(known[i])));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_false(encoding_is_known(str_of(unknown[i])));
}

static void the_encoding_that_a_page_names_is_found(void **state)
{
    static const char *const pages[][2] = {
        {"<meta charset=\"koi8-r\"><p>x", "koi8-r"},
        {"<META CHARSET='Shift_JIS'>", "Shift_JIS"},
        {"<meta http-equiv=Content-Type content='text/html; charset = \"windows-1251\"'>",
         "windows-1251"},
        {"<meta content='text/html; charset=windows-1251'>", ""},
        {"<meta name=charset content='charset=koi8-r'>", ""},
        {"<meta charset=\"\"><meta charset=nonsense><meta charset=big5>", "big5"},
        {"<!-- <meta charset=big5> --><script>'<meta charset=big5>'</script>", ""},
        {"<p title='<meta charset=big5>'>", ""},
        {"<?xml version='1.0' encoding='koi8-r'?><meta charset=big5>", "big5"},
        {"<?xml version='1.0' encoding='koi8-r'?><p>", "koi8-r"},
        {"<?xml version='1.0' encoding='koi8-r'", ""},
        {"<meta charset=", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (!str_eq(html_charset_find(str_of(pages[i][0])), str_of(pages[i][1])))
            fail_msg("%s", pages[i][0]);
}

/* ---- what is wrong ---- */

static void a_bad_byte_is_one_sign_and_a_wrong_name_none(void **state)
{
    expect_of("one bad byte", EXTRACT_TEXT, STR("na\xc3\xafve \xe9 x"), "naïve \xef\xbf\xbd x");
    expect_of("a named encoding", EXTRACT_HTML, STR("<meta charset=utf-8><p>caf\xe9 \xc3\xa9"),
              "caf\xef\xbf\xbd é");
    expect_of("a wrong name", EXTRACT_HTML,
              STR("<meta charset=utf-8><p>\xc4nderungen k\xf6nnen sp\xe4ter gepr\xfc"
                  "ft werden."),
              "Änderungen können später geprüft werden.");
    expect_of("one sign", EXTRACT_TEXT, STR("a\x85z"), "a…z");
}

static void only_utf8_is_read_without_a_child(void **state)
{
    assert_true(encoding_is_plain(STR("")));
    assert_true(encoding_is_plain(STR("na\xc3\xafve")));
    assert_false(encoding_is_plain(STR("na\xefve")));
    assert_false(encoding_is_plain(STR("\xff\xfe"
                                       "a\0")));
    assert_false(encoding_is_plain(STR("a\0b\0")));
    assert_false(encoding_is_plain(STR("\x1b$B2f\x1b(B")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_in_the_encoding_that_it_has),
        cmocka_unit_test(a_text_that_names_no_encoding_is_read),
        cmocka_unit_test(a_page_is_read_in_the_encoding_that_it_names),
        cmocka_unit_test(a_label_is_known_as_the_standard_has_it),
        cmocka_unit_test(the_encoding_that_a_page_names_is_found),
        cmocka_unit_test(a_bad_byte_is_one_sign_and_a_wrong_name_none),
        cmocka_unit_test(only_utf8_is_read_without_a_child),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
