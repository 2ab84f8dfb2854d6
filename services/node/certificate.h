/* SPDX-License-Identifier: MIT
 *
 * certificate: when the node's certificate is read again: at SIGHUP, and when its files change. One
 * per process.
 */
#ifndef PARLEY_SERVICES_NODE_CERTIFICATE_H
#define PARLEY_SERVICES_NODE_CERTIFICATE_H

#include "shared/http/wire/tls.h"

/* Starts a thread that looks at the files every few seconds, until the process ends. `tls` NULL:
 * does nothing. Logs when the certificate ends soon. */
void certificate_watch(struct tls *tls);
/* From now on `tls` is not looked at any more. */
void certificate_end_watch(void);
/* Reads the files again, changed or not. Logs the outcome. Any thread; `tls` NULL: does nothing. */
void certificate_reload(struct tls *tls);

#endif
