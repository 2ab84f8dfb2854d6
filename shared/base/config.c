/* SPDX-License-Identifier: MIT
 * config.c - see config.h. Sources are applied from the weakest to the strongest (default, file,
 * environment, flag), so each simply overwrites; every value is checked as it is set. */
#include "shared/base/config.h"

#include "shared/base/buf.h"
#include "shared/base/config_environment.h"
#include "shared/base/mem.h"
#include "shared/base/nearest.h"
#include "shared/base/usage.h"
#include "shared/base/yaml_tree.h"

#include <errno.h>
#include <stdio.h>

enum { FILE_MAX_BYTES = 1 << 20, FILE_DEPTH_MAX = 8, LINE_MAX_BYTES = 1024 };

const struct config_group config_check_options = {
    "Configuration",
    (const struct config_option[]){OPTION_BOOL("check-config", "off",
                                               "Checks the settings and the files and servers they "
                                               "name, prints what would run, and exits."),
                                   {0}}};

/* The last that was read: config_wrong repeats its values. */
static const struct config *latest;

/* --- options ---------------------------------------------------------------------------------- */

bool config_is_repeated(const struct config_group *const *groups,
                        const struct config_group *const *at)
{
    while (groups < at && *groups != *at)
        groups++;
    return groups < at;
}

const struct config_option **config_list_options(const struct config_group *const *groups)
{
    size_t n = 0;
    for (const struct config_group *const *group = groups; *group != NULL; group++)
        for (const struct config_option *o = (*group)->options; o->name != NULL; o++)
            n++;
    const struct config_option **list = mem_zeroed_n(n + 1, sizeof *list);
    n = 0;
    for (const struct config_group *const *group = groups; *group != NULL; group++)
        for (const struct config_option *o = (*group)->options; o->name != NULL; o++) {
            if (config_is_repeated(groups, group))
                continue;
            for (size_t i = 0; i < n; i++)
                if (strcmp(list[i]->name, o->name) == 0)
                    abort();
            list[n++] = o;
        }
    return list;
}

static size_t find(const struct config *config, struct str name,
                   const struct config_option **ret_option)
{
    size_t i = 0;
    while (config->options[i] != NULL && !str_eq(name, str_of(config->options[i]->name)))
        i++;
    *ret_option = config->options[i];
    return i;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_choice(const char *choices, struct str text)
{
    struct str rest = str_of(choices);
    while (rest.at != NULL)
        if (str_eq(str_cut(&rest, '|'), text))
            return true;
    return false;
}

static bool parse_bool(struct str text, uint64_t *ret_number)
{
    static const char *const on = "on|true|yes|1", *const off = "off|false|no|0";
    if (!is_choice(on, text) && !is_choice(off, text))
        return false;
    *ret_number = is_choice(on, text);
    return true;
}

/* Where a value was set, unless by a flag. */
static void put_source(struct buf *b, const char *option, const char *source)
{
    char name[CONFIG_ENV_NAME_MAX];
    config_put_env_name(&(struct config_option){.name = option}, name);
    if (strcmp(source, "environment") == 0)
        buf_printf(b, " (%s in the environment)", name);
    else if (strcmp(source, "file") == 0)
        buf_lit(b, " (in the configuration file)");
}

/* "--threads takes <what>, not 'many'", and where that was set, unless by a flag. Returns false. */
static bool refuse_value(const struct config_option *option, const struct buf *what,
                         const char *text, const char *source)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "parley: --%s takes %.*s, not ", option->name, STR_ARG(buf_str(what)));
    buf_put_typed(&b, "", str_of(text));
    if (option->choices != NULL)
        buf_put_nearest(&b, "", nearest_of(str_of(text), option->choices));
    put_source(&b, option->name, source);
    fprintf(stderr, "%.*s\n", STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return false;
}

/* Puts what the option takes, and returns whether `text` is that. */
static bool check_value(const struct config_option *option, struct str text, struct buf *what,
                        uint64_t *ret_number)
{
    if (option->kind == CONFIG_NUMBER) {
        buf_printf(what, "a whole number from %llu to %llu", (unsigned long long)option->min,
                   (unsigned long long)option->max);
        return str_parse_u64(text, ret_number) && *ret_number >= option->min &&
               *ret_number <= option->max;
    }
    if (option->kind == CONFIG_BOOL) {
        buf_lit(what, "on or off");
        return parse_bool(text, ret_number);
    }
    if (option->choices == NULL)
        return true;
    buf_put_words(what, option->choices);
    return is_choice(option->choices, text);
}

static bool is_flag_again(const struct config_value *value, const char *source)
{
    return value->source != NULL && strcmp(value->source, "flag") == 0 &&
           strcmp(source, "flag") == 0;
}

/* Frees `text`. */
static char *join_lines(const char *before, char *text)
{
    char *lines;
    if (asprintf(&lines, "%s\n%s", before, text) < 0)
        abort();
    free(text);
    return lines;
}

/* Checks and stores one value; takes over `text`, which lives until config_fini. */
static bool set(struct config *config, size_t at, char *text, const char *source)
{
    const struct config_option *option = config->options[at];
    struct config_value *value = &config->values[at];
    uint64_t number = 0;
    struct buf what;
    buf_init(&what, LINE_MAX_BYTES);
    bool is_good = check_value(option, str_of(text), &what, &number) ||
                   refuse_value(option, &what, text, source);
    buf_fini(&what);
    if (is_good && option->is_list && is_flag_again(value, source))
        text = join_lines(value->text, text);
    free(is_good ? (char *)value->text : text);
    if (is_good)
        *value = (struct config_value){.text = text, .number = number, .source = source};
    return is_good;
}

static bool read_defaults(struct config *config)
{
    for (size_t i = 0; config->options[i] != NULL; i++) {
        const char *fallback = config->options[i]->fallback;
        if (fallback != NULL && !set(config, i, str_copy(str_of(fallback)), "default"))
            return false;
    }
    return true;
}

static bool read_environment(struct config *config)
{
    for (size_t i = 0; config->options[i] != NULL; i++) {
        char name[CONFIG_ENV_NAME_MAX];
        config_put_env_name(config->options[i], name);
        const char *text = getenv(name);
        if (text != NULL && *text != 0 && !set(config, i, str_copy(str_of(text)), "environment"))
            return false;
    }
    return true;
}

static struct str nearest_option(const struct config *config, struct str name)
{
    struct nearest nearest = nearest_begin(name);
    for (size_t i = 0; config->options[i] != NULL; i++)
        nearest_try(&nearest, str_of(config->options[i]->name));
    return nearest_end(&nearest);
}

/* The key is shown where it can hardly be a secret. Returns false. */
static bool refuse_key(const struct config *config, const char *command, const char *path,
                       const yaml_node_t *key, bool is_known)
{
    struct str name = yaml_tree_scalar(key);
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "parley: %.*s line %zu: ", LINE_MAX_BYTES / 2, path, key->start_mark.line + 1);
    if (is_known) {
        buf_printf(&b, "%.*s takes a single plain value", STR_ARG(name));
    } else {
        buf_lit(&b, "unknown option");
        if (nearest_is_word(name))
            buf_printf(&b, " '%.*s'", STR_ARG(name));
        buf_put_nearest(&b, "", nearest_option(config, name));
        buf_printf(&b, " (parley %s --help lists them)", command);
    }
    fprintf(stderr, "%.*s\n", STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return false;
}

/* One flat YAML mapping of option names to scalars. */
static bool read_pairs(struct config *config, const char *command, const char *path,
                       yaml_document_t *document)
{
    const yaml_node_t *root = yaml_document_get_root_node(document);
    if (root == NULL)
        return true;
    if (root->type != YAML_MAPPING_NODE) {
        fprintf(stderr,
                "parley: %s: expected lines of the form 'option: value', as in 'listen: "
                "127.0.0.1:8080'\n",
                path);
        return false;
    }
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(document, pair->key);
        struct str name = yaml_tree_scalar(key);
        struct str value = yaml_tree_scalar(yaml_document_get_node(document, pair->value));
        const struct config_option *option = NULL;
        size_t at = find(config, name, &option);
        if (option == NULL || value.at == NULL || strlen(value.at) != value.n)
            return refuse_key(config, command, path, key, option != NULL);
        if (!set(config, at, str_copy(value), "file"))
            return false;
    }
    return true;
}

static bool read_file(struct config *config, const char *command, const char *path)
{
    static const struct yaml_tree_limits limits = {.depth_max = FILE_DEPTH_MAX};
    struct yaml_tree_fault fault;
    yaml_document_t document;
    struct buf text;
    FILE *file = fopen(path, "r");
    buf_init(&text, FILE_MAX_BYTES + 1);
    char *room = buf_reserve(&text, FILE_MAX_BYTES + 1);
    text.n = file == NULL ? 0 : fread(room, 1, FILE_MAX_BYTES + 1, file);
    bool ok = false;
    if (file == NULL || ferror(file)) {
        fprintf(stderr, "parley: cannot read the configuration file %s: %s\n", path,
                strerror(errno));
    } else if (text.n > FILE_MAX_BYTES) {
        fprintf(stderr, "parley: the configuration file %s is larger than %d bytes\n", path,
                FILE_MAX_BYTES);
    } else if (!yaml_tree_read(buf_str(&text), &limits, &fault, &document)) {
        fprintf(stderr, "parley: %s line %zu: %s\n", path, fault.line, fault.reason);
    } else {
        ok = read_pairs(config, command, path, &document);
        yaml_document_delete(&document);
    }
    if (file != NULL)
        fclose(file);
    buf_fini(&text);
    return ok;
}

/* Splits one argument into its option and, if it is there, the value after '='. */
static size_t split_flag(const struct config *config, const char *arg,
                         const struct config_option **ret_option, const char **ret_value)
{
    struct str rest = str_of(arg + 2);
    struct str name = str_cut(&rest, '=');
    *ret_value = rest.at;
    return find(config, name, ret_option);
}

static bool refuse_flag(const struct config *config, const char *command, const char *arg)
{
    struct str rest = str_of(arg + 2), name = str_cut(&rest, '=');
    return usage_unknown(command, "flag", "--", name, nearest_option(config, name));
}

enum flag_pass { PASS_FIND_FILE, PASS_SET };

static bool read_flags(struct config *config, const char *command, int argc, char **argv,
                       enum flag_pass pass, const char **file)
{
    for (int i = 0; i < argc; i++) {
        const char *value;
        if (strncmp(argv[i], "--", 2) != 0 || argv[i][2] == 0) {
            if (pass == PASS_SET)
                config->arguments[config->argument_n++] = argv[i];
            continue;
        }
        const struct config_option *option;
        size_t at = split_flag(config, argv[i], &option, &value);
        bool is_file = strcmp(argv[i], "--config") == 0 || strncmp(argv[i], "--config=", 9) == 0;
        if (option == NULL && !is_file)
            return refuse_flag(config, command, argv[i]);
        bool next_is_value = i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0;
        if (option != NULL && option->kind == CONFIG_BOOL && value == NULL) {
            uint64_t ignored;
            if (next_is_value && parse_bool(str_of(argv[i + 1]), &ignored))
                value = argv[++i];
            else
                value = "on";
        }
        if (value == NULL && next_is_value)
            value = argv[++i];
        if (value == NULL) {
            fprintf(stderr, "parley: %s needs a value (see parley %s --help)\n", argv[i], command);
            return false;
        }
        if (option == NULL) {
            *file = value;
        } else if (pass == PASS_SET && !set(config, at, str_copy(str_of(value)), "flag")) {
            return false;
        }
    }
    return true;
}

enum config_outcome config_read(struct config *config, const struct config_group *const *groups,
                                const char *command, int argc, char **argv)
{
    size_t option_n = 0;
    *config =
        (struct config){.options = config_list_options(groups),
                        .arguments = mem_zeroed_n((size_t)argc + 1, sizeof *config->arguments)};
    latest = config;
    while (config->options[option_n] != NULL)
        option_n++;
    config->values = mem_zeroed_n(option_n + 1, sizeof *config->values);
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return CONFIG_HELP;
    const char *file = getenv("PARLEY_CONFIG");
    if (!read_flags(config, command, argc, argv, PASS_FIND_FILE, &file) || !read_defaults(config) ||
        (file != NULL && *file != 0 && !read_file(config, command, file)) ||
        !read_environment(config) || !read_flags(config, command, argc, argv, PASS_SET, &file))
        return CONFIG_WRONG;
    return CONFIG_READY;
}

void config_fini(struct config *config)
{
    for (size_t i = 0; config->options != NULL && config->options[i] != NULL; i++)
        free((char *)config->values[i].text);
    free(config->options);
    free(config->values);
    free(config->arguments);
    *config = (struct config){0};
    latest = NULL;
}

bool config_has(const struct config *config, const char *name)
{
    const struct config_option *option;
    (void)find(config, str_of(name), &option);
    return option != NULL;
}

const struct config_value *config_get(const struct config *config, const char *name)
{
    const struct config_option *option;
    size_t at = find(config, str_of(name), &option);
    if (option == NULL)
        abort();
    return &config->values[at];
}

const char *config_text(const struct config *config, const char *name)
{
    return config_get(config, name)->text;
}

uint64_t config_number(const struct config *config, const char *name)
{
    return config_get(config, name)->number;
}

void config_fill(struct config *config, const char *name, const char *text, const char *source)
{
    const struct config_option *option;
    size_t at = find(config, str_of(name), &option);
    if (option == NULL || !set(config, at, str_copy(str_of(text)), source))
        abort();
}

bool config_may_show(const char *text)
{
    return text != NULL && strchr(text, '@') == NULL && strstr(text, "password") == NULL;
}

bool config_wrong(const char *flag, const char *reason)
{
    bool says_what = strncmp(reason, "takes ", 6) == 0 || strncmp(reason, "names ", 6) == 0;
    const struct config_value *value =
        says_what && latest != NULL && config_has(latest, flag) ? config_get(latest, flag) : NULL;
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_printf(&b, "parley: --%s: %s", flag, reason);
    if (value != NULL && config_may_show(value->text)) {
        buf_lit(&b, ", not ");
        buf_put_typed(&b, "", str_of(value->text));
    }
    if (value != NULL && value->source != NULL)
        put_source(&b, flag, value->source);
    fprintf(stderr, "%.*s\n", STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return false;
}
