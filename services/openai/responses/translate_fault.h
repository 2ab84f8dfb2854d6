/* SPDX-License-Identifier: MIT
 *
 * translate_fault: why a request of /v1/responses cannot be translated.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_TRANSLATE_FAULT_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_TRANSLATE_FAULT_H

/* A member that cannot be translated. */
struct translate_fault {
    char member[96];    /* its path, as `input[3].content[0].type` */
    char expected[128]; /* what it must be */
};

#endif
