/* SPDX-License-Identifier: MIT
 * settings.c - the options of the database, see settings.h. */
#include "services/workflow/sql/settings.h"

#include "shared/base/mem.h"

#include <openssl/crypto.h>
#include <stdio.h>

enum { PLACE_MAX_BYTES = 1024, ROLE_MAX_BYTES = 63 };

const struct config_group sql_options = {
    "Database of workflows",
    (const struct config_option[]){
        OPTION_TEXT(
            "sql-url", "URL", "sqlite:var/workflow.db",
            "The database on which workflows run SQL: sqlite:PATH, for nodes of one host, or "
            "postgresql://USER@HOST:PORT/DATABASE. An empty database gets a small sample. A "
            "password in the URL is visible in ps: use --sql-password-file or PGPASSFILE "
            "instead."),
        OPTION_TEXT(
            "sql-password-file", "FILE", NULL,
            "A file that contains the password of PostgreSQL. The user is part of --sql-url."),
        OPTION_TEXT("sql-role", "ROLE", "parley_statement",
                    "The role of PostgreSQL that statements run as. It may only read, insert and "
                    "update, and the user of --sql-url is a member of it."),
        {0}}};

static const struct database_kind *const kinds[] = {&database_sqlite, &database_postgres};

const struct database_kind *sql_find_kind(const char *url)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i]->scheme);
        if (strncmp(url, kinds[i]->scheme, n) == 0 && url[n] == ':')
            return kinds[i];
    }
    return NULL;
}

void sql_settings_free(struct sql_settings *settings)
{
    if (settings == NULL)
        return;
    if (settings->password != NULL)
        OPENSSL_cleanse(settings->password, strlen(settings->password));
    OPENSSL_cleanse(settings->url, strlen(settings->url));
    free(settings->password);
    free(settings->url);
    free(settings->role);
    free(settings->place);
    free(settings);
}

static char *make_place(const struct sql_settings *settings)
{
    struct buf place;
    buf_init(&place, PLACE_MAX_BYTES);
    settings->kind->put_place(&place, settings->url);
    char *copy = str_copy(place.is_over ? str_of(settings->kind->scheme) : buf_str(&place));
    buf_fini(&place);
    return copy;
}

struct sql_settings *sql_read_options(const struct config *config)
{
    const char *url = config_text(config, "sql-url"), *role = config_text(config, "sql-role");
    const char *file = config_text(config, "sql-password-file");
    const struct database_kind *kind = sql_find_kind(url);
    const char *wrong = kind == NULL ? "takes sqlite:PATH or postgresql://USER@HOST/DATABASE"
                                     : kind->check_url(url);
    char *password = NULL;
    if (wrong != NULL)
        config_wrong("sql-url", wrong);
    else if (role[0] == 0 || strlen(role) > ROLE_MAX_BYTES)
        config_wrong("sql-role", "takes the name of a role, 1 to 63 bytes");
    else if (file == NULL || (password = config_read_secret(file)) != NULL) {
        struct sql_settings *settings = mem_zeroed(sizeof *settings);
        *settings = (struct sql_settings){.kind = kind,
                                          .url = str_copy(str_of(url)),
                                          .password = password,
                                          .role = str_copy(str_of(role))};
        settings->place = make_place(settings);
        return settings;
    }
    return NULL;
}

void sql_print(const struct sql_settings *settings)
{
    printf("%-20s %s\n", "workflows' database", settings->place);
    if (settings->kind->has_environment)
        printf("%-20s %s\n", "statements run as", settings->role);
}
