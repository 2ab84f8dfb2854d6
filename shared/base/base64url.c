/* SPDX-License-Identifier: MIT
 * base64url.c - see base64url.h. Bits are shifted in at the right and taken off at the left; what
 * is left of them at the end must be zero. */
#include "shared/base/base64url.h"

size_t base64url_encode(const unsigned char *bytes, size_t n, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *start = out;
    uint32_t bits = 0;
    unsigned bit_n = 0;
    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | bytes[i];
        for (bit_n += 8; bit_n >= 6; bit_n -= 6)
            *out++ = digits[bits >> (bit_n - 6) & 63];
    }
    if (bit_n > 0)
        *out++ = digits[bits << (6 - bit_n) & 63];
    return (size_t)(out - start);
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool base64url_decode(struct str s, unsigned char *out, size_t *ret_n)
{
    uint32_t bits = 0;
    unsigned bit_n = 0;
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        int value = value_of(s.at[i]);
        if (value < 0)
            return false;
        bits = (bits << 6 | (uint32_t)value) & 0xfff;
        bit_n += 6;
        if (bit_n >= 8) {
            bit_n -= 8;
            out[n++] = (unsigned char)(bits >> bit_n);
        }
    }
    if (bit_n >= 6 || (bits & ((1u << bit_n) - 1)) != 0)
        return false;
    *ret_n = n;
    return true;
}
