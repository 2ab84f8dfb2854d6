/* SPDX-License-Identifier: MIT
 * annex.c - see annex.h.
 *
 *   WORKING --the registry has done it, or not--> SPEAKING --the room has the answer--> OVER
 *   a command that needs nobody, or a message without one, begins with SPEAKING */
#include "services/bots/rooms/annex.h"

#include "services/bots/registry/registry.h"
#include "services/bots/rooms/annex_words.h"
#include "services/bots/rooms/post.h"
#include "services/bots/skeleton.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/redis/verb.h"

enum { SAID_MAX_BYTES = MESSAGE_TEXT_MAX_BYTES, KEYS_MAX_BYTES = 8 << 10, LIST_MAX = 100 };

enum annex_state { ANNEX_WORKING, ANNEX_SPEAKING, ANNEX_OVER };

struct annex {
    struct bots *bots;
    enum annex_state state;
    uint64_t number;
    struct bots_who who; /* its texts are in `own` */
    char *own, *room, *id, *text;
    struct str target; /* the bot that the command names */
    struct registry_call *call;
    struct posting *posting;
    struct buf said, keys, private; /* `keys`: members of an object */
    annex_cb *on_end;
    void *context;
};

static const struct sm_state states[] = {
    [ANNEX_WORKING] = {"WORKING", SM(ANNEX_SPEAKING) | SM(ANNEX_OVER)},
    [ANNEX_SPEAKING] = {"SPEAKING", SM(ANNEX_OVER)},
    [ANNEX_OVER] = {"OVER", 0},
};
static const struct sm sm = SM_OF("command to annex", states);

static void move(struct annex *annex, enum annex_state to)
{
    annex->state = sm_move(&sm, annex->number, annex->state, to);
}

static void finish(struct annex *annex)
{
    move(annex, ANNEX_OVER);
    registry_leave(annex->call);
    post_leave(annex->posting);
    buf_fini(&annex->said);
    buf_fini(&annex->keys);
    buf_fini(&annex->private);
    free(annex->own);
    free(annex->room);
    free(annex->id);
    free(annex->text);
    free(annex);
}

/* --- the answer in the room ------------------------------------------------------------------- */

/* Keys that were made are handed over even if the room cannot be written to. */
static void on_posted(void *context, const struct post_end *end)
{
    struct annex *annex = context;
    (void)end;
    annex->posting = NULL;
    annex->on_end(annex->context, buf_str(&annex->private));
    finish(annex);
}

/* Puts what is said, and keys, if there are any. */
static void put_private(struct annex *annex)
{
    struct buf *b = &annex->private;
    buf_lit(b, "{\"text\":");
    buf_put_json(b, buf_str(&annex->said));
    buf_put(b, buf_str(&annex->keys));
    buf_put_char(b, '}');
}

static void speak(struct annex *annex)
{
    if (annex->said.is_over)
        buf_clear(&annex->said);
    if (annex->said.n == 0)
        buf_lit(&annex->said, "Done.");
    put_private(annex);
    struct post post = {.kind = POST_ANNEX,
                        .room = str_of(annex->room),
                        .namespace = annex->who.namespace,
                        .who = &annex->who,
                        .text = buf_str(&annex->said),
                        .reply_to = str_of(annex->id),
                        .max_stored = NO_NUMBER,
                        .max_stored_per_user = NO_NUMBER};
    move(annex, ANNEX_SPEAKING);
    annex->posting = post_start(annex->bots, &post, on_posted, annex);
}

static void say(struct annex *annex, const char *text)
{
    buf_put(&annex->said, str_of(text));
    speak(annex);
}

static void say_error(struct annex *annex, enum err error, const char *detail)
{
    say(annex, detail != NULL ? detail : err_info(error)->text);
}

/* --- registered, rotated, removed ------------------------------------------------------------- */

static void put_grant(struct buf *b, const struct grant *grant)
{
    buf_put_key(b, "username");
    buf_put_json(b, grant->username);
    buf_put_key(b, "caller_key");
    buf_put_json(b, grant->caller_key);
    buf_put_key(b, "signing_secret");
    buf_put_json(b, grant->signing_secret);
}

static void on_grant(struct annex *annex, const struct grant *grant, const char *done)
{
    annex->call = NULL;
    if (grant->error != ERR_OK) {
        say_error(annex, grant->error, grant->detail);
        return;
    }
    put_grant(&annex->keys, grant);
    buf_put(&annex->said, grant->username);
    say(annex, done);
}

static void on_registered(void *context, const struct grant *grant)
{
    on_grant(context, grant,
             grant->pulls ? " is registered and pulls its messages. Its keys went only to the one "
                            "who registered it."
                          : " is registered. Its keys went only to the one who registered it.");
}

static void on_rotated(void *context, const struct grant *grant)
{
    on_grant(context, grant,
             " has new keys, which went only to the one who asked for them. The former ones are "
             "good for another hour.");
}

static void on_removed(void *context, enum err error, const char *detail)
{
    struct annex *annex = context;
    annex->call = NULL;
    if (error != ERR_OK) {
        say_error(annex, error, detail);
        return;
    }
    buf_put(&annex->said, annex->target);
    say(annex, " is no longer registered.");
}

static struct registrant registrant_of(const struct annex *annex)
{
    struct registrant registrant = {.account = annex->who.account,
                                    .user_name = annex->who.user_name,
                                    .namespace = annex->who.namespace,
                                    .role = ROLE_USER};
    bool is_role = role_parse(annex->who.role, &registrant.role);
    (void)is_role; /* it was written by role_name */
    return registrant;
}

/* --- commands --------------------------------------------------------------------------------- */

static void help(struct annex *annex, const struct annex_words *words)
{
    (void)words;
    say(annex,
        "Commands begin with my name:\n"
        "/register @name URL \"Person Name\" registers a bot that is called at an address; with "
        "`pull` instead of the URL it takes its messages itself, with `parley:MODEL` a model here "
        "answers. Add `zulip` for a bot written for Zulip.\n"
        "/unregister @name removes a bot of yours.\n"
        "/rotate @name gives it new keys.\n"
        "/bots lists the bots.");
}

static void put_bot(struct buf *b, const struct listed_bot *bot)
{
    buf_lit(b, "\n");
    buf_put_json_text(b, bot->username);
    if (bot->emulates.n > 2 && bot->emulates.at[0] == '"') {
        buf_lit(b, " speaks as ");
        buf_put_json_text(b, bot->emulates);
    }
    if (bot->endpoint.n == 0)
        buf_lit(b, " (pulls)");
}

static void on_listed(void *context, enum err error, const struct listed_bot *bots, size_t n,
                      struct str next)
{
    struct annex *annex = context;
    annex->call = NULL;
    if (error != ERR_OK) {
        say_error(annex, error, NULL);
        return;
    }
    buf_put(&annex->said, n == 0 ? STR("No bot is registered.") : STR("Bots:"));
    for (size_t i = 0; i < n; i++)
        put_bot(&annex->said, &bots[i]);
    say(annex, next.n > 0 ? "\nThere are more: GET /api/bots lists all." : "");
}

static void list(struct annex *annex, const struct annex_words *words)
{
    struct registrant registrant = registrant_of(annex);
    (void)words;
    annex->call = registry_list(annex->bots, &registrant, LIST_MAX, STR(""), on_listed, annex);
}

#define USAGE_REGISTER                                                                             \
    "Write: @annex /register @name URL \"Person Name\", with `pull` or `parley:MODEL` instead of " \
    "the URL, without the person for a bot that emulates nobody in particular, and with `zulip` "  \
    "at the end for a bot written for Zulip."

static bool is_zulip(const struct annex_words *words, size_t i)
{
    return i < words->n && !words->is_quoted[i] && str_eq(words->words[i], STR("zulip"));
}

static void enlist(struct annex *annex, const struct annex_words *words)
{
    struct registrant registrant = registrant_of(annex);
    struct registration registration = {.username =
                                            words->n > 0 ? annex_name_of(words->words[0]) : STR(""),
                                        .endpoint = words->n > 1 ? words->words[1] : STR("")};
    size_t at = 2;
    if (at < words->n && !is_zulip(words, at))
        registration.emulates = words->words[at++];
    if (is_zulip(words, at)) {
        registration.format = STR("zulip");
        at++;
    }
    if (registration.username.n == 0 || registration.endpoint.n == 0 || at != words->n ||
        words->is_over) {
        say(annex, USAGE_REGISTER);
        return;
    }
    if (str_eq(registration.endpoint, STR("pull")))
        registration.endpoint = STR("");
    annex->call = registry_register(annex->bots, &registrant, &registration, on_registered, annex);
}

/* The name for keys of the one bot that a command names; false: it has said what is missing. */
static bool read_target(struct annex *annex, const struct annex_words *words, const char *usage,
                        struct buf *name)
{
    struct str target = words->n == 1 && !words->is_over ? annex_name_of(words->words[0]) : STR("");
    if (target.n == 0 || target.n > USER_MAX_BYTES) {
        say(annex, usage);
        return false;
    }
    annex->target = target;
    bots_put_name(name, annex->who.namespace, target);
    return true;
}

#define USAGE_UNREGISTER "Write the name of one bot after the command: @annex /unregister @name"
#define USAGE_ROTATE "Write the name of one bot after the command: @annex /rotate @name"

static void remove_bot(struct annex *annex, const struct annex_words *words)
{
    struct registrant registrant = registrant_of(annex);
    char bytes[BOTS_NAME_MAX_BYTES];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    if (read_target(annex, words, USAGE_UNREGISTER, &name))
        annex->call = registry_remove(annex->bots, &registrant, buf_str(&name), on_removed, annex);
}

static void rotate(struct annex *annex, const struct annex_words *words)
{
    struct registrant registrant = registrant_of(annex);
    char bytes[BOTS_NAME_MAX_BYTES];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    if (read_target(annex, words, USAGE_ROTATE, &name))
        annex->call = registry_rotate(annex->bots, &registrant, buf_str(&name), on_rotated, annex);
}

static const struct command {
    struct str name;
    void (*run)(struct annex *annex, const struct annex_words *words);
    const char *usage;
} commands[] = {
    {STR("/register"), enlist, USAGE_REGISTER},  {STR("/unregister"), remove_bot, USAGE_UNREGISTER},
    {STR("/rotate"), rotate, USAGE_ROTATE},      {STR("/bots"), list, "Write: @annex /bots"},
    {STR("/help"), help, "Write: @annex /help"},
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "/Register," and "register" mean "/register". */
static bool means(struct str word, const struct command *command)
{
    while (word.n > 0 && !is_letter(word.at[0]))
        word = (struct str){word.at + 1, word.n - 1};
    while (word.n > 0 && !is_letter(word.at[word.n - 1]))
        word.n--;
    return str_eq_nocase(word, (struct str){command->name.at + 1, command->name.n - 1});
}

/* The usage line of the command that was meant, or what else there is to say. */
static const char *usage_of(struct str text, bool has_command)
{
    for (struct str rest = text, word; (word = annex_words_next(&rest)).n > 0;)
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
            if (means(word, &commands[i]))
                return commands[i].usage;
    return has_command ? "I do not know this command. @annex /help lists those that I know."
                       : "Write a command after my name: @annex /help lists those that I know.";
}

static void run(struct annex *annex, const struct annex_words *words)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (str_eq(words->name, commands[i].name)) {
            commands[i].run(annex, words);
            return;
        }
    say(annex, usage_of(str_of(annex->text), words->name.n > 0));
}

/* --- life ------------------------------------------------------------------------------------- */

enum annex_wish annex_wish_of(struct str text, const struct str *tagged, size_t tagged_n)
{
    struct annex_words words;
    bool is_tagged = false;
    for (size_t i = 0; i < tagged_n; i++)
        is_tagged |= skeleton_is_same(tagged[i], BOTS_ANNEX);
    if (!annex_words_read(text, is_tagged, &words))
        return ANNEX_NOTHING;
    return words.name.n > 0 ? ANNEX_COMMAND : ANNEX_ANSWER;
}

struct annex *annex_start(struct bots *bots, const struct bots_who *who, struct str room,
                          struct str id, struct str text, annex_cb *on_end, void *context)
{
    struct annex *annex = mem_zeroed(sizeof *annex);
    struct annex_words words;
    *annex = (struct annex){.bots = bots,
                            .state = ANNEX_WORKING,
                            .number = sm_number(),
                            .room = str_copy(room),
                            .id = str_copy(id),
                            .text = str_copy(text),
                            .on_end = on_end,
                            .context = context};
    annex->own = bots_who_copy(who, &annex->who);
    buf_init(&annex->said, SAID_MAX_BYTES);
    buf_init(&annex->keys, KEYS_MAX_BYTES);
    buf_init(&annex->private, 6 * SAID_MAX_BYTES + KEYS_MAX_BYTES + 32);
    bool is_for_annex = annex_words_read(str_of(annex->text), true, &words);
    (void)is_for_annex; /* the caller has asked */
    run(annex, &words);
    return annex;
}

void annex_cancel(struct annex *annex)
{
    if (annex != NULL)
        finish(annex);
}
