/* SPDX-License-Identifier: MIT
 * test_engine_extractive.c - the built-in model: extractive answers. */
#include "services/engine/models/extractive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void answer(struct prompt *prompt, const char *question, struct buf *think, struct buf *text)
{
    buf_init(think, 65536);
    buf_init(text, 65536);
    prompt->question = str_of(question);
    extractive_answer(prompt, think, text);
    buf_put_char(think, 0);
    buf_put_char(text, 0);
}

static void check(struct prompt *prompt, const char *question, const char *expected)
{
    struct buf think, text;
    for (int i = 0; i < 2; i++) { /* twice: the same prompt, the same answer */
        answer(prompt, question, &think, &text);
        assert_string_equal(text.at, expected);
        assert_non_null(strstr(think.at, "extractive"));
        buf_fini(&think);
        buf_fini(&text);
    }
}

static void sentences_are_copied_with_their_marks(void **state)
{
    struct prompt prompt = {.searched_documents = 2, .searched_passages = 2};
    prompt_add_source(&prompt, STR("other.md"), STR("Bananas are yellow. Is a lease long?"));
    prompt_add_source(&prompt, STR("lease.md"),
                      STR("# Leases\n\nA lease is 150 seconds\nlong by default. Heartbeats renew "
                          "it. Claims expire at the end of their lease."));
    check(&prompt, "How long is a lease?",
          "A lease is 150 seconds long by default. [1]\n\nSources:\n[1] lease.md");
    check(&prompt, "Are bananas yellow?", "Bananas are yellow. [1]\n\nSources:\n[1] other.md");
    prompt_fini(&prompt);
}

static void where_nothing_fits_it_says_so(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    check(&prompt, "Anything?", EXTRACTIVE_NOTHING);
    prompt_add_source(&prompt, STR("a.md"), STR("A lease is 150 seconds long. What is love?"));
    check(&prompt, "What is love?", EXTRACTIVE_NOTHING);
    check(&prompt, "Who painted the Mona Lisa?", EXTRACTIVE_NOTHING);
    check(&prompt, "What is it?", EXTRACTIVE_NOTHING);
    check(&prompt, "", EXTRACTIVE_NOTHING);
    prompt_fini(&prompt);
}

static void a_question_about_what_the_reader_marked(void **state)
{
    static const char *const questions[] = {
        "Explain this concept", "What does this mean?", "Please summarize the passage.",
        "Explain this in simple terms!", "Erkläre diesen Begriff"};
    static const char marked[] = "Pods run containers.\nThey share one network. Each has an "
                                 "address. Nodes run them.";
    struct prompt prompt = {.has_given_sources = true, .marked = str_of(marked)};
    prompt_add_source(&prompt, STR("lease.md"), STR("A lease is 150 seconds long by default."));
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        check(&prompt, questions[i],
              "Pods run containers. They share one network. Each has an address.");
    check(&prompt, "What is a lease?", "A lease is 150 seconds long by default. [1]");
    check(&prompt, "Who painted the Mona Lisa?", EXTRACTIVE_NOTHING);
    prompt_add_source(&prompt, STR("pods.md"), STR("Pods share a network and run containers."));
    check(&prompt, "Explain this concept", "Pods share a network and run containers. [2]");
    prompt_fini(&prompt);
}

static void a_block_of_code_is_no_sentence(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("lease.md"),
                      STR("Ask like this:\n\n```sh\ncurl -d '{\"Query\":\"How long is a lease?\"}' "
                          "http://node/\n```\n\nA lease is 150 seconds long."));
    check(&prompt, "How long is a lease?",
          "A lease is 150 seconds long. [1]\n\nSources:\n[1] lease.md");
    prompt_fini(&prompt);
}

static void what_leads_to_something_or_is_a_link_is_no_answer(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(
        &prompt, STR("upload.md"),
        STR("Upload a document like this:\n\n```sh\ncurl -F file=@a\n```\n\nBecause of "
            "an upload:"));
    check(&prompt, "How do I upload a document?",
          "Upload a document like this: [1]\n\n```sh\ncurl -F file=@a\n```\n\nSources:\n[1] "
          "upload.md");
    prompt_fini(&prompt);
    prompt = (struct prompt){.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("links.md"),
                      STR("# Upload\n\n- [Upload a document](a.md)\n- [Upload a folder](b.md)\n\n"
                          "| Task | Page |\n|---|---|\n| upload a document | [Upload](a.md) |\n"));
    check(&prompt, "How do I upload a document?", EXTRACTIVE_NOTHING);
    prompt_fini(&prompt);
}

static void tables_lists_and_links_read_as_sentences(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("flags.md"),
                      STR("| Flag | Default |\n|---|---|\n| `--listen` | port 8080 |\n\nThe pump "
                          "needs:\n- oil, or\n  grease\n- [water](w.md)[3]\n"));
    check(&prompt, "Which port is the default?",
          "Flag: `--listen`; Default: port 8080 [1]\n\nSources:\n[1] flags.md");
    check(&prompt, "What does the pump need?",
          "The pump needs: oil, or grease; water(3) [1]\n\nSources:\n[1] flags.md");
    prompt_fini(&prompt);
}

static void a_row_that_says_what_its_cells_are_needs_no_heads(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("wood.xlsx"),
                      STR("Boards of 2026\nWood | Price\nWood: Larch | Price: 14.90\n"
                          "Wood: Oak | Price: 38.50"));
    check(&prompt, "What does oak cost?", "Wood: Oak; Price: 38.50 [1]\n\nSources:\n[1] wood.xlsx");
    prompt_fini(&prompt);
}

static void a_table_answers_with_the_rows_that_hold_most(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(
        &prompt, STR("loans.html"),
        STR("# Fines\n\nAll of them:\n\nItem | Fine per day\nBooks | 20p\nDVDs | 50p\n"));
    check(&prompt, "What is the fine per day for a DVD?",
          "Item: DVDs; Fine per day: 50p [1]\n\nSources:\n[1] loans.html");
    prompt_fini(&prompt);
}

static void a_row_is_found_by_the_number_that_the_question_calls_it_by(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("plan.md"),
                      STR("# Plan\n\nAll weeks:\n\nWeek | Tuesday | Sunday\n4 | 8 km | 13 km\n"
                          "8 | 10 km | 18 km\n"));
    check(&prompt, "How far do I run on Sunday in week 8?",
          "Week: 8; Tuesday: 10 km; Sunday: 18 km [1]\n\nSources:\n[1] plan.md");
    prompt_fini(&prompt);
    prompt = (struct prompt){.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("tickets.json"),
                      STR("ticket: 4471 | solution: new fuse\nticket: 4480 | solution: new seal"));
    check(&prompt, "What is the solution of ticket 4471?",
          "ticket: 4471; solution: new fuse [1]\n\nSources:\n[1] tickets.json");
    prompt_fini(&prompt);
}

static void a_question_for_a_number_is_answered_with_one_or_not_at_all(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("lease.md"),
                      STR("# Deposit\n\nThe tenant pays a deposit before the keys are handed over. "
                          "The landlord returns it within thirty days."));
    check(&prompt, "What does the deposit cost?", EXTRACTIVE_NOTHING);
    check(&prompt, "When do I get my deposit?",
          "The tenant pays a deposit before the keys are handed over. [1] The landlord returns it "
          "within thirty days. [1]\n\nSources:\n[1] lease.md");
    prompt_fini(&prompt);
}

static void a_record_reads_with_semicolons(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("clocks.xml"),
                      STR("name: Scale\nyear: 1904\nname: Clock\nyear: 1781"));
    check(&prompt, "What year is the clock of?",
          "name: Clock; year: 1781 [1]\n\nSources:\n[1] clocks.xml");
    prompt_fini(&prompt);
}

static void the_head_of_a_mail_is_no_answer_to_what_the_mail_says(void **state)
{
    struct prompt prompt = {.has_given_sources = true};
    prompt_add_source(&prompt, STR("rota.eml"),
                      STR("From: Ada Byron\nTo: Charles Babbage\nSubject: Rota\n\nI am away in "
                          "May; ask my colleague "
                          "Mary Somerville then.\n"));
    check(&prompt, "Whom does Charles ask while Ada is away?",
          "I am away in May; ask my colleague Mary Somerville then. [1]");
    check(&prompt, "What is the subject of Ada's mail to Charles?",
          "From: Ada Byron; To: Charles Babbage; Subject: Rota [1]");
    prompt_fini(&prompt);
}

static void who_did_something_is_not_who_did_something_else(void **state)
{
    struct prompt prompt = {.has_given_sources = true};
    prompt_add_source(&prompt, STR("ledger.log"),
                      STR("09:00 order #4711 of the mill entered by jroe\n09:02 waiting for "
                          "approval\n09:05 approved by fkemp\n09:07 order #4711 sent\n"));
    check(&prompt, "Who approved order 4711?", EXTRACTIVE_NOTHING);
    check(&prompt, "Who entered order 4711?", "09:00 order #4711 of the mill entered by jroe [1]");
    prompt_fini(&prompt);
}

static void an_answer_about_one_thing_quotes_nothing_about_another(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("faults.md"),
                      STR("## What if Redis stops?\n\nNew work is refused.\n\n## What if a node "
                          "stops?\n\nIf a node stops, clients send it again.\n"));
    check(&prompt, "What happens if Redis stops?",
          "New work is refused. [1]\n\nSources:\n[1] faults.md");
    prompt_fini(&prompt);
}

static void given_passages_keep_their_numbers(void **state)
{
    struct prompt prompt = {.has_given_sources = true};
    prompt_read_sources(&prompt, STR("Answer from these.\n\n[1] First title\nBananas are yellow.\n"
                                     "They grow.\n[2] A lease is 150 seconds long.\n---\nQuestion: "
                                     "How long is a lease?"));
    assert_int_equal(prompt.source_n, 2);
    assert_string_equal(prompt.sources[0].title, "First title");
    assert_string_equal(prompt.sources[1].title, "");
    assert_string_equal(prompt.sources[1].text, "A lease is 150 seconds long.");
    check(&prompt, "How long is a lease?", "A lease is 150 seconds long. [2]");
    prompt_fini(&prompt);
}

static const char fact[] = "A lease is 150 seconds long by default.";

static void add_note(struct prompt *prompt, const char *text, const char *fragment, bool is_wrong,
                     const char *complaint)
{
    prompt_add_note(prompt, &(struct prompt_note){.title = STR("Recommendation"),
                                                  .question = STR("How long is a lease?"),
                                                  .text = str_of(text),
                                                  .fragment = str_of(fragment),
                                                  .is_correction = is_wrong,
                                                  .complaint = complaint});
}

static void what_users_recommend_takes_no_place_and_repeats_nothing(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("lease.md"), str_of(fact));
    for (int i = 0; i < 5; i++)
        add_note(&prompt, fact, "", false, NULL);
    add_note(&prompt, "a lease is 150 seconds", "", false, NULL);
    check(&prompt, "How long is a lease?",
          "A lease is 150 seconds long by default. [1]\n\nSources:\n[1] lease.md");
    add_note(&prompt, "One may ask for more. One may ask for less. One may ask for none.", "",
             false, NULL);
    check(&prompt, "How long is a lease?",
          "A lease is 150 seconds long by default. [1] One may ask for more. [2] One may ask for "
          "less. [2]\n\nSources:\n[1] lease.md\n[2] Recommendation");
    check(&prompt, "How high is a lease?", /* another question */
          "A lease is 150 seconds long by default. [1]\n\nSources:\n[1] lease.md");
    check(&prompt, "How tall is the moon?", EXTRACTIVE_NOTHING);
    prompt_fini(&prompt);
}

static void a_correction_replaces_what_it_corrects(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("lease.md"), str_of(fact));
    add_note(&prompt, "A lease is 60 seconds long.", fact, true, NULL);
    check(&prompt, "How long is a lease?",
          "A lease is 60 seconds long. [1]\n\nSources:\n[1] Recommendation");
    prompt_fini(&prompt);
}

static void a_complaint_stands_with_the_source(void **state)
{
    struct prompt prompt = {.searched_documents = 1, .searched_passages = 1};
    prompt_add_source(&prompt, STR("lease.md"), str_of(fact));
    add_note(&prompt, "", "a lease is 150 seconds long", false, "a user suggests an improvement");
    check(&prompt, "How long is a lease?",
          "A lease is 150 seconds long by default. [1]\n\nSources:\n[1] lease.md (a user suggests "
          "an improvement)");
    prompt_fini(&prompt);
}

static void messages_are_the_conversation(void **state)
{
    char reason[100];
    json_t *json;
    assert_true(json_parse(
        STR("{\"Topic\":\"T\",\"Queries\":[{\"1\":\"row\"}],\"Details\":{\"1\":{\"Modifiers\":{"
            "\"Messages\":[{\"role\":\"system\",\"content\":\"[1] A lease is 150 seconds long.\"},"
            "{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"Yes?\"},"
            "{\"role\":\"user\",\"content\":\"How long is a lease?\"}]}}}}"),
        reason, sizeof reason, &json));
    struct claim claim;
    struct prompt prompt;
    assert_true(claim_read(&claim, json));
    json_decref(json);
    prompt_init(&prompt, &claim, &claim.queries[0]);
    assert_true(str_eq(prompt.question, STR("How long is a lease?")));
    assert_true(prompt.has_given_sources);
    assert_false(prompt_wants_sources(&prompt));
    assert_int_equal(prompt.kind, PROMPT_ANSWER);
    prompt_fini(&prompt);
    claim_fini(&claim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_are_copied_with_their_marks),
        cmocka_unit_test(where_nothing_fits_it_says_so),
        cmocka_unit_test(a_question_about_what_the_reader_marked),
        cmocka_unit_test(a_block_of_code_is_no_sentence),
        cmocka_unit_test(what_leads_to_something_or_is_a_link_is_no_answer),
        cmocka_unit_test(tables_lists_and_links_read_as_sentences),
        cmocka_unit_test(a_row_that_says_what_its_cells_are_needs_no_heads),
        cmocka_unit_test(a_table_answers_with_the_rows_that_hold_most),
        cmocka_unit_test(a_row_is_found_by_the_number_that_the_question_calls_it_by),
        cmocka_unit_test(a_question_for_a_number_is_answered_with_one_or_not_at_all),
        cmocka_unit_test(a_record_reads_with_semicolons),
        cmocka_unit_test(the_head_of_a_mail_is_no_answer_to_what_the_mail_says),
        cmocka_unit_test(who_did_something_is_not_who_did_something_else),
        cmocka_unit_test(an_answer_about_one_thing_quotes_nothing_about_another),
        cmocka_unit_test(given_passages_keep_their_numbers),
        cmocka_unit_test(what_users_recommend_takes_no_place_and_repeats_nothing),
        cmocka_unit_test(a_correction_replaces_what_it_corrects),
        cmocka_unit_test(a_complaint_stands_with_the_source),
        cmocka_unit_test(messages_are_the_conversation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
