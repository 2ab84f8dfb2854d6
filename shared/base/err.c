/* SPDX-License-Identifier: MIT
 * err.c - see err.h. */
#include "shared/base/err.h"

static const struct err_info table[ERR_NR] = {
#define X(name, status, code, level, text) [ERR_##name] = {status, code, level, text},
    ERR_TABLE(X)
#undef X
};

const struct err_info *err_info(enum err error)
{
    return &table[(unsigned)error < ERR_NR ? error : ERR_INTERNAL];
}

const char *err_reason(int status)
{
    switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 507: return "Insufficient Storage";
    case 503: return "Service Unavailable";
    default: return "Internal Server Error";
    }
}
