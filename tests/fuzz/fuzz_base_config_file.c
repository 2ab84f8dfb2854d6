/* SPDX-License-Identifier: MIT
 * fuzz_base_config_file.c - the YAML settings file: any bytes are either settings within their
 * limits or a refusal. The bytes are handed over in a memory file; what is said about them goes
 * nowhere. */
#include "shared/base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const struct config_option options[] = {
    {.name = "listen", .kind = CONFIG_TEXT, .fallback = "127.0.0.1:0", .help = "text"},
    {.name = "threads",
     .kind = CONFIG_NUMBER,
     .fallback = "1",
     .min = 1,
     .max = 64,
     .help = "number"},
    {.name = "auth-sha1", .kind = CONFIG_BOOL, .fallback = "on", .help = "boolean"},
    {.name = "log-format", .kind = CONFIG_TEXT, .choices = "json|text", .help = "choice"},
    {0},
};

static const struct config_group all = {"Flags", options};
static const struct config_group *const groups[] = {&all, NULL};

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    stderr = fopen("/dev/null", "w"); /* the sanitizers write past stdio and stay audible */
    require(stderr != NULL);
    static const char *const names[] = {"PARLEY_CONFIG", "PARLEY_LISTEN", "PARLEY_THREADS",
                                        "PARLEY_AUTH_SHA1", "PARLEY_LOG_FORMAT"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("settings", 0);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct config config;
    char *argv[] = {(char *)"--config", path};
    enum config_outcome outcome = config_read(&config, groups, "serve", 2, argv);
    require(outcome == CONFIG_READY || outcome == CONFIG_WRONG);
    if (outcome == CONFIG_READY) {
        uint64_t threads = config_number(&config, "threads");
        require(threads >= 1 && threads <= 64);
        require(config_number(&config, "auth-sha1") <= 1);
        const char *format = config_text(&config, "log-format");
        require(format == NULL || strcmp(format, "json") == 0 || strcmp(format, "text") == 0);
    }
    config_fini(&config);
    close(fd);
    return 0;
}
