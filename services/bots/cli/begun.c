/* SPDX-License-Identifier: MIT
 * begun.c - the id of a run, in a file of its own from its begin until its result was shown.
 *
 * While a run continues, a node finds it by the same request. A run that has ended while nobody
 * followed it is not found so: the same request would begin it again. This file is what lets the
 * same command show its result instead. It is a convenience: where no file can be written, the
 * command works without. The file's name is a digest of everything that makes two commands the
 * same. */
#include "services/bots/cli/evaluate.h"

#include "shared/op/whole_file.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DIGEST_BYTES = 16, FOLDER_MAX_BYTES = 3072 };

static bool put_folder(struct buf *folder)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state != NULL && state[0] == '/')
        buf_put(folder, str_of(state));
    else if (home != NULL && home[0] == '/')
        buf_printf(folder, "%s/.local/state", home);
    else
        return false;
    buf_lit(folder, "/parley/");
    return !folder->is_over;
}

static void put_digest(struct buf *path, const struct evaluate_cli *cli)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    char hex[2 * DIGEST_BYTES + 1];
    const char *names[] = {config_text(cli->calls.config, "url"), cli->calls.user,
                           cli->calls.on_behalf_of};
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
        abort();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct str name = names[i] == NULL ? STR("") : str_of(names[i]);
        EVP_DigestUpdate(context, name.at, name.n);
        EVP_DigestUpdate(context, "", 1);
    }
    EVP_DigestUpdate(context, cli->request.at, cli->request.n);
    EVP_DigestFinal_ex(context, hash, NULL);
    EVP_MD_CTX_free(context);
    str_hex(hash, DIGEST_BYTES, hex);
    buf_printf(path, "evaluation-%s", hex);
}

void evaluate_cli_recall(struct evaluate_cli *cli)
{
    struct buf path;
    buf_init(&path, FOLDER_MAX_BYTES + DIGEST_BYTES * 2 + 32);
    if (put_folder(&path) && path.n < FOLDER_MAX_BYTES) {
        put_digest(&path, cli);
        cli->begun_path = str_copy(buf_str(&path));
    }
    buf_fini(&path);
    FILE *file = cli->begun_path == NULL ? NULL : fopen(cli->begun_path, "re");
    if (file == NULL)
        return;
    if (fgets(cli->id, sizeof cli->id, file) == NULL)
        cli->id[0] = 0;
    size_t n = strspn(cli->id, "0123456789abcdef-");
    if (cli->id[n] != '\n' && cli->id[n] != 0)
        n = 0;
    cli->id[n] = 0;
    fclose(file);
}

void evaluate_cli_remember(const struct evaluate_cli *cli)
{
    struct whole_file file;
    if (cli->begun_path == NULL)
        return;
    whole_file_make_folders(cli->begun_path);
    if (!whole_file_open(&file, cli->begun_path, true))
        return;
    if (dprintf(file.fd, "%s\n", cli->id) < 0 || !whole_file_commit(&file))
        whole_file_leave(&file);
}

void evaluate_cli_forget(const struct evaluate_cli *cli)
{
    if (cli->begun_path != NULL)
        (void)!unlink(cli->begun_path);
}
