/* SPDX-License-Identifier: MIT
 * str.c - see str.h. */
#include "shared/base/str.h"

#include "shared/base/mem.h"

#include <math.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <strings.h>

int str_compare(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n == 0 ? 0 : memcmp(a.at, b.at, n);
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

bool str_eq_nocase(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.at, b.at, a.n) == 0);
}

bool str_has_prefix(struct str s, struct str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.at, prefix.at, prefix.n) == 0);
}

bool str_holds(struct str s, struct str part)
{
    return s.n >= part.n && (part.n == 0 || memmem(s.at, s.n, part.at, part.n) != NULL);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.n > 0 && is_space(s.at[0])) {
        s.at++;
        s.n--;
    }
    while (s.n > 0 && is_space(s.at[s.n - 1]))
        s.n--;
    return s;
}

char *str_copy(struct str s)
{
    char *copy = mem_alloc(s.n + 1);
    if (s.n > 0)
        memcpy(copy, s.at, s.n);
    copy[s.n] = 0;
    return copy;
}

struct str str_cut(struct str *rest, char sep)
{
    struct str head = *rest;
    if (rest->at == NULL)
        return head;
    const char *end = memchr(rest->at, sep, rest->n);
    if (end == NULL) {
        *rest = (struct str){NULL, 0};
        return head;
    }
    head.n = (size_t)(end - head.at);
    rest->at = end + 1;
    rest->n -= head.n + 1;
    return head;
}

bool str_is_listed(struct str list, struct str name)
{
    while (list.at != NULL)
        if (str_eq(str_trim(str_cut(&list, ',')), name))
            return true;
    return false;
}

bool str_eq_secret(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || CRYPTO_memcmp(a.at, b.at, a.n) == 0);
}

bool str_parse_u64(struct str s, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (s.n == 0 || s.n > 20)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.at[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

size_t str_put_u64(char *at, uint64_t value)
{
    if (value < 10) {
        *at = (char)('0' + value);
        return 1;
    }
    char digits[STR_U64_MAX], *p = digits + sizeof digits;
    do
        *--p = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    size_t n = (size_t)(digits + sizeof digits - p);
    memcpy(at, p, n);
    return n;
}

bool str_parse_double(struct str s, double *ret_value)
{
    char text[64], *end;
    if (s.n == 0 || s.n >= sizeof text || is_space(s.at[0]))
        return false;
    memcpy(text, s.at, s.n);
    text[s.n] = 0;
    double value = strtod(text, &end);
    if (end != text + s.n || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

/* Table 3-7 of the Unicode standard: which second byte each lead byte allows. */
bool str_is_utf8(struct str s)
{
    if (s.n == 0)
        return true;
    const unsigned char *p = (const unsigned char *)s.at, *end = p + s.n;
    while (p < end) {
        if (*p < 0x80) { /* mostly: eight at a time */
            uint64_t word;
            while (end - p >= 8 && (memcpy(&word, p, 8), (word & 0x8080808080808080u) == 0))
                p += 8;
            while (p < end && *p < 0x80)
                p++;
            continue;
        }
        size_t tail;
        unsigned char low = 0x80, high = 0xbf;
        if (*p >= 0xc2 && *p <= 0xdf) {
            tail = 1;
        } else if (*p >= 0xe0 && *p <= 0xef) {
            tail = 2;
            low = *p == 0xe0 ? 0xa0 : 0x80;
            high = *p == 0xed ? 0x9f : 0xbf;
        } else if (*p >= 0xf0 && *p <= 0xf4) {
            tail = 3;
            low = *p == 0xf0 ? 0x90 : 0x80;
            high = *p == 0xf4 ? 0x8f : 0xbf;
        } else {
            return false;
        }
        if ((size_t)(end - p) <= tail || p[1] < low || p[1] > high)
            return false;
        for (size_t i = 2; i <= tail; i++)
            if ((p[i] & 0xc0) != 0x80)
                return false;
        p += tail + 1;
    }
    return true;
}

void str_hex(const unsigned char *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = 0;
}

void str_random_hex(size_t n, char *out)
{
    unsigned char bytes[STR_RANDOM_MAX_BYTES];
    if (n > sizeof bytes || RAND_bytes(bytes, (int)n) != 1)
        abort();
    str_hex(bytes, n, out);
    OPENSSL_cleanse(bytes, n);
}

static bool is_uuid_hyphen(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

void str_random_uuid(char out[STR_UUID_BYTES + 1])
{
    char hex[33], *from = hex;
    str_random_hex(16, hex);
    hex[12] = '4';
    hex[16] = "89ab"[hex[16] & 3];
    for (size_t i = 0; i < STR_UUID_BYTES; i++)
        out[i] = is_uuid_hyphen(i) ? '-' : *from++;
    out[STR_UUID_BYTES] = 0;
}

bool str_is_uuid(struct str s)
{
    bool is_good = s.n == STR_UUID_BYTES;
    for (size_t i = 0; i < s.n && is_good; i++)
        is_good = is_uuid_hyphen(i)
                      ? s.at[i] == '-'
                      : (s.at[i] >= '0' && s.at[i] <= '9') || (s.at[i] >= 'a' && s.at[i] <= 'f');
    return is_good;
}

/* The value of a digit, and one more. */
static const unsigned char hex_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

bool str_unhex(struct str hex, unsigned char *out)
{
    if (hex.n % 2 != 0)
        return false;
    for (size_t i = 0; i < hex.n; i += 2) {
        unsigned char high = hex_values[(unsigned char)hex.at[i]];
        unsigned char low = hex_values[(unsigned char)hex.at[i + 1]];
        if (high == 0 || low == 0)
            return false;
        *out++ = (unsigned char)((high - 1) << 4 | (low - 1));
    }
    return true;
}
