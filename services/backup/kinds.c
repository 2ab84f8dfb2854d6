/* SPDX-License-Identifier: MIT
 * kinds.c - see kinds.h.
 *
 * Keys are read one after the other while the cluster works, so references between keys may be
 * inconsistent. Therefore only topics, documents, lookups and runs are authoritative, each read
 * consistently; everything DERIVED here is rebuilt from them by the verbs in lua/backup, with the
 * same functions as in normal operation (fair.enqueue, shares.count, ...). */
#include "services/backup/kinds.h"

static const struct {
    const char *word;
    enum kind kind;
    enum kind_home home; /* of what is copied */
} kinds[] = {
    {"t", KIND_TOPIC},
    {"lookup", KIND_LOOKUP},
    {"doc", KIND_DOCUMENT},
    {"wfr", KIND_RUN},
    {"idem", KIND_FIRST, HOME_KEPT},
    {"wf_file", KIND_LAST, HOME_KEPT},
    {"job", KIND_EXPIRING, HOME_KEPT},
    {"nonces", KIND_COPIED, HOME_MEMBERS},
    {"nonce_counts", KIND_COPIED, HOME_CLUSTER},
    {"limit", KIND_COPIED, HOME_KEPT},
    {"spent", KIND_COPIED, HOME_KEPT},
    {"stat", KIND_COUNTED, HOME_DIVIDED},
    {"tokens", KIND_COUNTED, HOME_DIVIDED},
    {"account_tokens", KIND_COUNTED, HOME_DIVIDED},
    {"token_key", KIND_COPIED, HOME_CLUSTER},
    {"drained", KIND_COPIED, HOME_EVERY},
    {"recommendations", KIND_COPIED, HOME_CLUSTER},
    {"audit", KIND_COPIED, HOME_CLUSTER},
    {"room", KIND_COPIED, HOME_ID},
    {"room_messages", KIND_COPIED, HOME_ID},
    {"room_talk", KIND_COPIED, HOME_ID},
    {"room_names", KIND_COPIED, HOME_CLUSTER},
    {"room_looks", KIND_COPIED, HOME_CLUSTER},
    {"names_n", KIND_COPIED, HOME_CLUSTER},
    {"bot", KIND_COPIED, HOME_CLUSTER},
    {"evaluation", KIND_COPIED, HOME_ID},
    {"evaluation_text", KIND_LAST, HOME_ID},
    {"evaluation_turns", KIND_LAST, HOME_ID},
    {"file", KIND_COPIED, HOME_ID},
    {"file_bytes", KIND_LAST, HOME_ID},
    {"batch", KIND_COPIED, HOME_ID},
    {"batch_output", KIND_LAST, HOME_ID},
    {"batch_errors", KIND_LAST, HOME_ID},
    /* with a document */
    {"upload", KIND_PART},
    {"text", KIND_PART},
    {"pack", KIND_PART},
    {"vectors", KIND_PART},
    {"recent_jobs", KIND_PART},
    {"waiting_jobs", KIND_PART},
    /* with a run */
    {"wff", KIND_PART},
    {"wfs", KIND_PART},
    {"wfa", KIND_PART},
    {"wfq", KIND_PART},
    /* with a topic */
    {"topics", KIND_PART},
    {"names", KIND_PART},
    {"failed", KIND_PART},
    {"asked", KIND_PART},
    {"asks", KIND_PART},
    {"responses", KIND_PART},
    {"lookups", KIND_PART},
    /* from topics */
    {"open", KIND_DERIVED},
    {"turns", KIND_DERIVED},
    {"models", KIND_DERIVED},
    {"falls", KIND_DERIVED}, /* by the first sync of a node */
    {"waiting", KIND_DERIVED},
    {"shares", KIND_DERIVED},
    {"depths", KIND_DERIVED},
    {"stored", KIND_DERIVED}, /* from lookups, recommendations and runs, too */
    {"users", KIND_DERIVED},
    {"meta", KIND_DERIVED}, /* its lease is in the file's end */
    /* from lookups */
    {"lookup_alias", KIND_DERIVED},
    {"lookups_of", KIND_DERIVED},
    {"lookup_due", KIND_DERIVED},
    {"needs", KIND_DERIVED},
    /* from recommendations */
    {"recommenders", KIND_DERIVED},
    {"recommended", KIND_DERIVED},
    {"judged", KIND_DERIVED},
    /* from documents */
    {"docs", KIND_DERIVED},
    {"space", KIND_DERIVED},
    {"shas", KIND_DERIVED},
    {"paths", KIND_DERIVED},
    {"packs", KIND_DERIVED},
    {"jobs", KIND_DERIVED},
    {"job_turns", KIND_DERIVED},
    {"account_turns", KIND_DERIVED},
    {"queued_turns", KIND_DERIVED},
    {"queued_jobs", KIND_DERIVED},
    {"delayed_jobs", KIND_DERIVED},
    /* from runs */
    {"wf", KIND_DERIVED},
    {"wf_due", KIND_DERIVED},
    {"wf_done", KIND_DERIVED},
    {"wf_of", KIND_DERIVED},
    {"wf_open", KIND_DERIVED},
    {"wf_ask", KIND_DERIVED},
    {"wf_asked", KIND_DERIVED},
    {"wf_files", KIND_DERIVED}, /* from the files */
    /* from rooms, messages, bots and evaluations (lua/bots/restore.lua) */
    {"rooms", KIND_DERIVED},
    {"rooms_of", KIND_DERIVED},
    {"room_members", KIND_DERIVED},
    {"rooms_n", KIND_DERIVED},
    {"rooms_empty", KIND_DERIVED},
    {"rooms_going", KIND_DERIVED},
    {"messages_of", KIND_DERIVED},
    {"bots", KIND_DERIVED},
    {"bots_of", KIND_DERIVED},
    {"bots_n", KIND_DERIVED},
    {"evaluation_last", KIND_DERIVED},
    {"evaluation_due", KIND_DERIVED},
    {"evaluations_of", KIND_DERIVED},
    {"evaluations_open", KIND_DERIVED},
    {"evaluations_done", KIND_DERIVED},
    /* from files */
    {"files", KIND_DERIVED},
    {"filers", KIND_DERIVED},
    {"files_due", KIND_DERIVED},
    /* from batches */
    {"batches", KIND_DERIVED},
    {"batchers", KIND_DERIVED},
    {"batches_open", KIND_DERIVED},
    {"batches_n", KIND_DERIVED},
    {"batches_all", KIND_DERIVED},
    {"batches_due", KIND_DERIVED},
    {"batches_done", KIND_DERIVED},
    /* not there after a restore */
    {"again", KIND_PASSING}, /* what is not kept ends with its client */
    {"dlv", KIND_PASSING},   /* its message is in the room, and its bot may be asked again */
    {"dlv_due", KIND_PASSING},
    {"dlv_done", KIND_PASSING},
    {"fence", KIND_PASSING},
    {"dlv_n", KIND_PASSING},
    {"dlv_of", KIND_PASSING},
    {"dlv_pull", KIND_PASSING},
    {"dlv_polls", KIND_PASSING},
    {"names_known", KIND_PASSING},
    {"name_uses", KIND_PASSING},
    {"room_watch", KIND_PASSING},
    {"deleting", KIND_PASSING}, /* the request that is sent again finds its place again */
    {"served", KIND_PASSING},
    {"clock", KIND_PASSING},
    {"leases", KIND_PASSING},
    {"lease", KIND_PASSING},
    {"partials", KIND_PASSING},
    {"idle", KIND_PASSING},
    {"idle_lookups", KIND_PASSING},
    {"hints", KIND_PASSING},
    {"models_seen", KIND_PASSING},
    {"quiet", KIND_PASSING},
    {"bound", KIND_PASSING},
    {"nonce_marks", KIND_PASSING},
    {"resent", KIND_PASSING},
    {"left", KIND_PASSING},
    {"held", KIND_PASSING}, /* by nodes of the former cluster */
    {"lost", KIND_PASSING},
    {"outbox", KIND_PASSING}, /* of topics that are gone */
    {"running", KIND_PASSING},
    {"released", KIND_PASSING},
    {"unrecommended", KIND_PASSING}, /* engines that read them read everything again */
    {"cluster", KIND_PASSING},
    {"poll", KIND_PASSING},
    {"rate", KIND_PASSING},
    {"nodes", KIND_PASSING},
    {"vacancy_nodes", KIND_PASSING},
    {"node_info", KIND_PASSING},
    {"nodes_gone", KIND_PASSING},
    {"engines", KIND_PASSING},
    {"settings", KIND_PASSING},
    {"depth", KIND_PASSING},
    {"watchers", KIND_PASSING},
    {"trash", KIND_PASSING}, /* of vectors that no document names: these are not restored */
    {"failures", KIND_PASSING},
    {"audit_refused", KIND_PASSING},
    {"audit_once", KIND_PASSING},
    {"restoring", KIND_PASSING},
    {"shown", KIND_PASSING},
    {"wfw", KIND_PASSING},
    {"pushed", KIND_PASSING}, /* of uploads that nobody has acknowledged */
};

enum { KIND_WORDS = sizeof kinds / sizeof kinds[0] };

static size_t find(struct str name)
{
    struct str rest = name, word = str_cut(&rest, ':');
    size_t i = 0;
    while (i < KIND_WORDS && !str_eq(word, str_of(kinds[i].word)))
        i++;
    return i;
}

enum kind kind_of(struct str name)
{
    size_t i = find(name);
    return i < KIND_WORDS ? kinds[i].kind : KIND_COPIED;
}

enum kind_home kind_home_of(struct str name)
{
    size_t i = find(name);
    return i < KIND_WORDS ? kinds[i].home : HOME_KEPT;
}
