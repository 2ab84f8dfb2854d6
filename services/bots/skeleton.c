/* SPDX-License-Identifier: MIT
 * skeleton.c - see skeleton.h. Unicode's skeleton keeps case, and takes a capital I for an l but
 * a small i for none: so it is taken twice, before and after the case is folded, and each i becomes
 * an l. Characters that nobody sees are left out. */
#include "services/bots/skeleton.h"

#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <unicode/uchar.h>
#include <unicode/uspoof.h>
#include <unicode/ustring.h>

/* A name has 128 bytes, and no character's skeleton has more than 18 units. */
enum { UNITS_MAX = 4096 };

static USpoofChecker *checker; /* of the process; it does not change, so all threads use it */

static void open_checker(void)
{
    UErrorCode status = U_ZERO_ERROR;
    checker = uspoof_open(&status);
    if (U_FAILURE(status))
        abort();
}

static int32_t take_skeleton(const UChar *name, int32_t n, UChar *to, UErrorCode *status)
{
    return uspoof_getSkeleton(checker, 0, name, n, to, UNITS_MAX, status);
}

static int32_t drop_unseen(UChar *name, int32_t n)
{
    int32_t kept = 0;
    for (int32_t at = 0, from = 0; at < n; from = at) {
        UChar32 code;
        U16_NEXT(name, at, n, code);
        if (u_hasBinaryProperty(code, UCHAR_DEFAULT_IGNORABLE_CODE_POINT))
            continue;
        memmove(name + kept, name + from, (size_t)(at - from) * sizeof *name);
        kept += at - from;
    }
    return kept;
}

static int32_t read_name(struct str name, UChar *to, UErrorCode *status)
{
    int32_t n = 0;
    u_strFromUTF8WithSub(to, UNITS_MAX, &n, name.at, (int32_t)name.n, 0xfffd, NULL, status);
    return U_FAILURE(*status) ? 0 : drop_unseen(to, n);
}

void skeleton_of(struct str name, char ret_skeleton[SKELETON_CHARS + 1])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned char digest[SHA256_DIGEST_LENGTH];
    UChar one[UNITS_MAX], other[UNITS_MAX];
    UErrorCode status = U_ZERO_ERROR;
    pthread_once(&once, open_checker);
    int32_t n = read_name(name, one, &status);
    n = take_skeleton(one, n, other, &status);
    n = u_strFoldCase(one, UNITS_MAX, other, n, U_FOLD_CASE_DEFAULT, &status);
    n = take_skeleton(one, n, other, &status);
    for (int32_t i = 0; i < n && U_SUCCESS(status); i++)
        if (other[i] == 'i')
            other[i] = 'l';
    if (U_SUCCESS(status))
        SHA256((const unsigned char *)other, (size_t)n * sizeof *other, digest);
    else /* no name is that long */
        SHA256((const unsigned char *)name.at, name.n, digest);
    str_hex(digest, SKELETON_CHARS / 2, ret_skeleton);
}

bool skeleton_is_same(struct str a, struct str b)
{
    char skeleton[2][SKELETON_CHARS + 1];
    skeleton_of(a, skeleton[0]);
    skeleton_of(b, skeleton[1]);
    return strcmp(skeleton[0], skeleton[1]) == 0;
}
