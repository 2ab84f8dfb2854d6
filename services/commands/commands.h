/* SPDX-License-Identifier: MIT
 *
 * commands: the subcommands of the one executable. Each takes what follows its name and returns
 * the exit code: 0 fine, 1 failed, 2 wrong usage (after one clear line on standard error).
 */
#ifndef PARLEY_SERVICES_COMMANDS_COMMANDS_H
#define PARLEY_SERVICES_COMMANDS_COMMANDS_H

int serve_main(int argc, char **argv);   /* services/node/serve.c */
int engine_main(int argc, char **argv);  /* services/engine/main.c */
int ingest_main(int argc, char **argv);  /* services/indexer/ingest.c */
int reindex_main(int argc, char **argv); /* services/indexer/reindex.c */
int backup_main(int argc, char **argv);  /* services/backup/backup.c */
int restore_main(int argc, char **argv); /* services/backup/restore.c */
int bench_main(int argc, char **argv);   /* services/bench/main.c */
int sign_main(int argc, char **argv);    /* services/commands/sign.c */
int extract_main(int argc, char **argv); /* services/commands/extract.c */

#endif
