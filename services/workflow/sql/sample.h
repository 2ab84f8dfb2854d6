/* SPDX-License-Identifier: MIT
 *
 * sample: the schema and the rows that an empty database gets, as statements for both kinds:
 * patterns, cards that explain them, and episodes in which a card was used.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_SAMPLE_H
#define PARLEY_SERVICES_WORKFLOW_SQL_SAMPLE_H

/* Each makes one table, with %s for the type of an identity column. Ends with NULL. */
extern const char *const sample_tables[];
extern const char *const sample_names[];
/* Insert its rows. Ends with NULL. */
extern const char *const sample_rows[];

#endif
