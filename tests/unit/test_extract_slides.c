/* SPDX-License-Identifier: MIT
 * test_extract_slides.c - PPTX and ODP: slides as pages, in their order, with their notes. */
#include "tests/unit/package_fixture.h"

static void slides_are_pages_in_their_order(void **state)
{
    const struct entry entries[] = {
        OF_PRESENTATION,
        PRESENTATION("<p:sldId id=\"1\" r:id=\"b\"/><p:sldId id=\"2\" r:id=\"none\"/>"
                     "<p:sldId id=\"3\" r:id=\"a\"/>"),
        {"ppt/_rels/presentation.xml.rels",
         RELATIONS(RELATION("a", "slide", "slides/slide1.xml")
                       RELATION("b", "slide", "/ppt/slides/slide2.xml"))},
        {"ppt/slides/slide1.xml",
         SLIDE("<p:sp><p:nvSpPr><p:nvPr><p:ph type=\"ftr\"/></p:nvPr></p:nvSpPr><p:txBody>"
               "<a:p><a:r><a:t>Footer</a:t></a:r></a:p></p:txBody></p:sp>"
               "<p:sp><p:txBody><a:p><a:r><a:t>Second page</a:t></a:r></a:p></p:txBody></p:sp>"
               "<p:graphicFrame><a:tbl><a:tr>"
               "<a:tc gridSpan=\"2\"><a:p><a:r><a:t>AB</a:t></a:r></a:p></a:tc>"
               "<a:tc hMerge=\"1\"/><a:tc><a:p><a:r><a:t>C</a:t></a:r></a:p></a:tc>"
               "</a:tr></a:tbl></p:graphicFrame>")},
        {"ppt/slides/slide2.xml",
         SLIDE(SHAPE("<p:ph idx=\"1\"/>",
                     AP(">", "one") AP("><a:buNone/>", "none")
                         AP("><a:buAutoNum type=\"alphaLcParenR\"/>", "first")
                             AP("><a:buAutoNum type=\"alphaLcParenR\"/>", "second"))
                   SHAPE("<p:ph type=\"title\"/>", AP(">", "Start")))},
        {"ppt/slides/_rels/slide2.xml.rels",
         RELATIONS(RELATION("n", "notesSlide", "../notesSlides/n.xml"))},
        {"ppt/notesSlides/n.xml", SLIDE(SHAPE("<p:ph type=\"sldNum\"/>", AP(">", "7")) SHAPE(
                                      "<p:ph type=\"body\"/>", AP(">", "Say hello.")))}};
    expect_zip(
        EXTRACT_PPTX, entries, COUNT(entries),
        "## Start\n\n- one\nnone\na) first\nb) second\n\nNotes: Say hello.\f\fSecond page\n\n"
        "AB | AB | C");
}

static void slides_of_opendocument_are_pages(void **state)
{
    const struct entry slides[] = {
        {"content.xml",
         CONTENT("", "<office:presentation><draw:page><draw:frame presentation:class=\"title\">"
                     "<text:p>Start</text:p></draw:frame><draw:frame><text:p>Text</text:p>"
                     "</draw:frame><presentation:notes><draw:frame><text:p>Say hello.</text:p>"
                     "</draw:frame></presentation:notes></draw:page>"
                     "<draw:page><draw:frame><text:p>Two</text:p>"
                     "</draw:frame></draw:page></office:presentation>")}};
    expect_zip(EXTRACT_ODP, slides, COUNT(slides), "## Start\n\nText\n\nNotes: Say hello.\fTwo");
}

static void slides_have_the_numbers_of_pages(void **state)
{
    const struct entry entries[] = {
        OF_PRESENTATION,
        PRESENTATION("<p:sldId r:id=\"a\"/><p:sldId r:id=\"b\"/>"),
        {"ppt/_rels/presentation.xml.rels",
         RELATIONS(RELATION("a", "slide", "a.xml") RELATION("b", "slide", "b.xml"))},
        {"ppt/a.xml", SLIDE(SHAPE("", AP(">", "One")))},
        {"ppt/b.xml", SLIDE(SHAPE("", AP(">", "Two")))}};
    assert_true(use_program());
    expect_zip(EXTRACT_PPTX, entries, COUNT(entries), "One\n\nTwo");
    extract_set_program(NULL);
    assert_int_equal(text_pages_find(&paged, 0), 1);
    assert_int_equal(text_pages_find(&paged, 5), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slides_are_pages_in_their_order),
        cmocka_unit_test(slides_of_opendocument_are_pages),
        cmocka_unit_test(slides_have_the_numbers_of_pages),
    };
    return cmocka_run_group_tests(tests, set_up_alone, tear_down);
}
