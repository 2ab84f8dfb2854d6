/* SPDX-License-Identifier: MIT
 * protected.c - see protected.h. GET /.well-known/oauth-protected-resource, also with /mcp. */
#include "services/mcp/protected.h"

#include "generated/routes_mcp.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/oidc.h"
#include "shared/http/client/endpoint.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

#define PATH "/.well-known/oauth-protected-resource"
#define MCP "/mcp"

/* NULL: no provider that programs can find, or they do not know where this is. */
static const struct oidc_settings *provider_of(const struct request *r)
{
    const struct oidc *oidc = r->server->gate->oidc;
    const struct oidc_settings *settings = oidc == NULL ? NULL : oidc_settings_of(oidc);
    bool is_whole = settings != NULL && settings->issuer != NULL && *settings->issuer != 0 &&
                    settings->public_url != NULL && *settings->public_url != 0;
    return is_whole ? settings : NULL;
}

void protected_put_challenge(const struct request *r, struct buf *out)
{
    const struct oidc_settings *settings = provider_of(r);
    if (settings == NULL)
        return;
    buf_lit(out, ", resource_metadata=\"");
    buf_put(out, http_base_url(str_of(settings->public_url)));
    buf_lit(out, PATH MCP "\"");
}

/* The path says of which resource: the server, or its /mcp. */
void mcp_show_resource(struct request *r)
{
    const struct oidc_settings *settings = provider_of(r);
    struct str path = r->path;
    struct buf *b = &r->server->scratch, url;
    if (settings == NULL) {
        respond_error(r, ERR_NOT_FOUND,
                      "No OpenID provider issues tokens for this: --oidc-issuer and --public-url "
                      "name it and where this is.");
        return;
    }
    buf_init(&url, OIDC_URL_MAX_BYTES);
    buf_put(&url, http_base_url(str_of(settings->public_url)));
    if (path.n > sizeof PATH)
        buf_lit(&url, MCP);
    buf_clear(b);
    buf_lit(b, "{\"resource\":");
    buf_put_json(b, buf_str(&url));
    buf_lit(b, ",\"authorization_servers\":[");
    buf_put_json(b, str_of(settings->issuer));
    buf_lit(b, "],\"bearer_methods_supported\":[\"header\"],\"scopes_supported\":[\"openid\"],"
               "\"resource_name\":\"Parley\"}");
    buf_fini(&url);
    respond_json(r, 200, b);
}
