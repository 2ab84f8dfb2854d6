/* SPDX-License-Identifier: MIT
 * pdf_places.c - see pdf_places.h. A page is divided into squares. A word is remembered under its
 * text and the square of its middle, and looked for in the four squares nearest to that. It takes
 * the place of another in a table of fixed size, so a word costs the same whatever the page is
 * like; at worst a copy stays. */
#include "shared/extract/pdf_places.h"

#include "shared/base/hash.h"
#include "shared/base/mem.h"

enum { PLACES = 1 << 14, SQUARE_POINTS = 8 };

struct pdf_place {
    uint64_t key; /* 0: free */
    struct pdf_box box;
};

void pdf_places_init(struct pdf_places *places)
{
    places->at = mem_zeroed_n(PLACES, sizeof *places->at);
}

void pdf_places_fini(struct pdf_places *places)
{
    free(places->at);
    places->at = NULL;
}

static uint64_t key_of(uint64_t text_hash, uint32_t page, int column, int row)
{
    const int square[] = {(int)page, column, row};
    return hash_fnv64((struct str){(const char *)square, sizeof square}, text_hash) | 1;
}

static struct pdf_place *place_of(const struct pdf_places *places, uint64_t key)
{
    return &places->at[(key >> 32) % PLACES];
}

/* Do both cover more than half of the shorter one? */
static bool overlaps(float from, float to, float other_from, float other_to)
{
    float covered = (to < other_to ? to : other_to) - (from > other_from ? from : other_from);
    float length = to - from, other = other_to - other_from;
    return covered * 2 > (length < other ? length : other);
}

static bool is_over(const struct pdf_box *a, const struct pdf_box *b)
{
    return overlaps(a->x0, a->x1, b->x0, b->x1) && overlaps(a->y0, a->y1, b->y0, b->y1);
}

bool pdf_places_take(struct pdf_places *places, uint32_t page, struct str text,
                     const struct pdf_box *box)
{
    uint64_t hash = hash_fnv64(text, 0);
    float column = (box->x0 + box->x1) / 2 / SQUARE_POINTS, row = pdf_middle(box) / SQUARE_POINTS;
    for (int i = 0; i < 4; i++) {
        uint64_t key = key_of(hash, page, (int)(column - 0.5F) + i % 2, (int)(row - 0.5F) + i / 2);
        const struct pdf_place *place = place_of(places, key);
        if (place->key == key && is_over(&place->box, box))
            return false;
    }
    uint64_t key = key_of(hash, page, (int)column, (int)row);
    *place_of(places, key) = (struct pdf_place){key, *box};
    return true;
}
