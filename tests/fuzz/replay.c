/* SPDX-License-Identifier: MIT
 * replay.c - stands for libFuzzer in the build of the tests: gives a fuzz target each file that is
 * named, and an empty input, once. Ends with 1 and a line at a file that cannot be read; what is
 * wrong with an input, the sanitizers or the target say. */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

/* In memory of just its size, so that a read past its end is found. */
static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        err(1, "replay: %s", path);
    long size = ftell(file);
    rewind(file);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (size < 0 || data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size)
        err(1, "replay: %s", path);
    fclose(file);
    fprintf(stderr, "replay: %s\n", path);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

int main(int argc, char **argv)
{
    uint8_t nothing[1] = {0};
    if (LLVMFuzzerInitialize != NULL)
        LLVMFuzzerInitialize(&argc, &argv);
    LLVMFuzzerTestOneInput(nothing, 0);
    for (int i = 1; i < argc; i++)
        replay_file(argv[i]);
    return 0;
}
