/* SPDX-License-Identifier: MIT
 * outdated.c - see outdated.h. */
#include "services/indexer/outdated.h"

#include "shared/search/pack.h"

/* 0 where there is none, as in documents of before there were versions. */
static uint64_t number_of(struct str value)
{
    uint64_t number = 0;
    return value.at != NULL && str_parse_u64(value, &number) ? number : 0;
}

bool outdated_is_of_model(const struct indexed_by *by, const struct embedder *embedder,
                          uint32_t dimension)
{
    return by->model.at != NULL && str_eq(by->model, str_of(embedder->name)) &&
           (dimension == 0 || number_of(by->dimension) == dimension);
}

struct outdated outdated_of(const struct indexed_by *by, enum extract_kind kind,
                            const struct embedder *embedder, uint32_t dimension)
{
    bool is_kind = by->kind.at != NULL && str_eq(by->kind, str_of(extract_kind_name(kind)));
    return (struct outdated){
        .text = !is_kind || number_of(by->readers) < extract_readers_version(kind),
        .index = !outdated_is_of_model(by, embedder, dimension) ||
                 number_of(by->pack_version) < PACK_VERSION,
    };
}
