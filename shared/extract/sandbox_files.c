/* SPDX-License-Identifier: MIT
 * sandbox_files.c - see sandbox_files.h.
 *
 * A compromised parser can write anything it can read into its output, and the sender of the
 * document gets to see that as its text. So the accounts, keys and documents of this machine must
 * not be there to be read. Landlock knows folders that are allowed and nothing that is forbidden:
 * the list below is what programs of a distribution are started from. It follows no settings: a
 * library elsewhere would have to be moved.
 *
 * Not being able to look into other processes comes with it: the kernel lets a confined process
 * trace, or read the memory and environment of, only such that are confined as much. */
#include "shared/extract/sandbox_files.h"

#include "shared/base/log.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE,
    READ_FOLDER = READ | LANDLOCK_ACCESS_FS_READ_DIR,
};

static const struct {
    const char *path;
    bool is_folder;
} readable[] = {
    {"/usr", true},
    {"/bin", true},
    {"/lib", true},
    {"/lib32", true},
    {"/lib64", true},
    {"/etc/ld.so.cache", false},
    {"/etc/ld.so.preload", false},
    {"/etc/fonts", true},
    {"/var/cache/fontconfig", true},
    {"/proc/self", true}, /* of the child: sanitizers look at their memory there */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_possible;

static void find_landlock(void)
{
    is_possible =
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1;
    if (!is_possible)
        log_write(LOG_WARN, "document readers run without file system isolation",
                  LOG_S("reason", "the kernel does not support Landlock"));
}

bool sandbox_files_are_confinable(void)
{
    pthread_once(&once, find_landlock);
    return is_possible;
}

/* Adds a rule, unless there is no such file. */
static bool allow(int rules, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = access,
                                              .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent_fd < 0)
        return true;
    bool is_done = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    close(rule.parent_fd);
    return is_done;
}

bool sandbox_confine_files(const char *program)
{
    struct landlock_ruleset_attr handled = {.handled_access_fs =
                                                READ_FOLDER | LANDLOCK_ACCESS_FS_WRITE_FILE};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    bool is_done = rules >= 0 && allow(rules, program, READ);
    for (size_t i = 0; is_done && i < sizeof readable / sizeof *readable; i++)
        is_done = allow(rules, readable[i].path, readable[i].is_folder ? READ_FOLDER : READ);
    is_done = is_done && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    if (rules >= 0)
        close(rules);
    return is_done;
}
