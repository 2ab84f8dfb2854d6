/* SPDX-License-Identifier: MIT
 * replay.c - stands for libFuzzer in the build of the tests: gives a fuzz target an empty input and
 * those of the files that are named, once each. A file NAME.hex has an input on each line, as hex
 * digits; any other file is one input. Ends with 1 and a line at a file that cannot be read; what
 * is wrong with an input, the sanitizers or the target say. */
#include "shared/redis/verb.h"

#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

/* In memory of just its size, so that a read past its end is found. */
static void give(const char *path, size_t line, const uint8_t *bytes, size_t n)
{
    uint8_t *data = malloc(n > 0 ? n : 1);
    if (data == NULL)
        err(1, "replay");
    memcpy(data, bytes, n);
    fprintf(stderr, "replay: %s:%zu\n", path, line);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
}

static size_t digit(const char *path, char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    if (at == NULL)
        errx(1, "replay: %s: '%c' is no hex digit", path, c);
    return (size_t)(at - digits);
}

static void give_lines(const char *path, char *text)
{
    size_t line = 0;
    for (char *at = text; *at != '\0'; at++) {
        uint8_t *to = (uint8_t *)at, *from = to;
        for (; *at != '\n' && *at != '\0'; at += 2)
            *to++ = (uint8_t)(digit(path, at[0]) << 4 | digit(path, at[1]));
        give(path, ++line, from, (size_t)(to - from));
        if (*at == '\0')
            return;
    }
}

static void give_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    long n = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *text = n < 0 ? NULL : calloc(1, (size_t)n + 1);
    if (text == NULL || fseek(file, 0, SEEK_SET) != 0 ||
        fread(text, 1, (size_t)n, file) != (size_t)n)
        err(1, "replay: %s", path);
    fclose(file);
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strcmp(dot, ".hex") == 0)
        give_lines(path, text);
    else
        give(path, 1, (const uint8_t *)text, (size_t)n);
    free(text);
}

int main(int argc, char **argv)
{
    uint8_t nothing[1] = {0};
    verb_is_checked = false;
    if (LLVMFuzzerInitialize != NULL)
        LLVMFuzzerInitialize(&argc, &argv);
    LLVMFuzzerTestOneInput(nothing, 0);
    for (int i = 1; i < argc; i++)
        give_file(argv[i]);
    return 0;
}
