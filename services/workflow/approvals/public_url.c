/* SPDX-License-Identifier: MIT
 * public_url.c - --public-url: the address under which people reach the cluster. */
#include "services/workflow/approvals/approvals.h"

#include <stdlib.h>

enum { URL_MAX_BYTES = 512 };

const struct config_group approvals_options = {
    "Approvals",
    (const struct config_option[]){
        OPTION_TEXT("public-url", "URL", "",
                    "Where people reach the cluster, as in https://parley.example.org. Links of "
                    "approvers, and addresses of passages that parley/documents cites, begin with "
                    "it; without it they are paths."),
        {0}}};

static bool is_url(struct str url)
{
    static const struct str schemes[] = {STR("http://"), STR("https://")};
    if (url.n > URL_MAX_BYTES)
        return false;
    for (size_t i = 0; i < url.n; i++)
        if (url.at[i] <= ' ' || url.at[i] > '~' || strchr("\"<>\\^`{|}?#@", url.at[i]) != NULL)
            return false;
    for (size_t i = 0; i < 2; i++)
        if (str_has_prefix(url, schemes[i]) && url.n > schemes[i].n && url.at[schemes[i].n] != '/')
            return true;
    return false;
}

bool approvals_read_url(const struct config *config, char **ret_url)
{
    struct str url = str_of(config_text(config, "public-url"));
    if (url.n > 0 && !is_url(url))
        return config_wrong("public-url", "takes an http:// or https:// URL without a query");
    while (url.n > 0 && url.at[url.n - 1] == '/')
        url.n--;
    *ret_url = str_copy(url);
    return true;
}
