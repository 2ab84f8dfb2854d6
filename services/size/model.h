/* SPDX-License-Identifier: MIT
 *
 * model: computes the machines that a load needs, from measured figures. Arithmetic only: no I/O,
 * no state. The figures are those of docs/operations/scale.md, where each has the command that
 * measures it.
 */
#ifndef PARLEY_SERVICES_SIZE_MODEL_H
#define PARLEY_SERVICES_SIZE_MODEL_H

#include <stdint.h>

/* Names end with the unit. Processor time is of one core. */
#define SIZE_FIGURES(ROW)                                                                          \
    ROW(cycle_node_us, 45) /* a question, its claim, its answer and its reading */                 \
    ROW(cycle_redis_us, 87)                                                                        \
    ROW(token_node_us, 51) /* written by an engine, shown to one viewer */                         \
    ROW(token_redis_us, 25)                                                                        \
    ROW(viewer_node_us, 13)  /* the same token for a further viewer */                             \
    ROW(socket_node_us, 7.3) /* an engine that waits at a socket, in a second */                   \
    ROW(socket_redis_us, 0.5)                                                                      \
    ROW(poll_node_us, 2) /* a parked poll, in a second */                                          \
    ROW(poll_redis_us, 1.7)                                                                        \
    ROW(idle_node_us, 370) /* a sync of a thread with a shard */                                   \
    ROW(idle_redis_us, 770)                                                                        \
    ROW(server_redis_us, 1650)      /* a server of Redis alone, in a second */                     \
    ROW(node_bytes, 20971520)       /* memory of a node that does nothing */                       \
    ROW(socket_bytes, 15300)        /* of a node for an engine's socket */                         \
    ROW(poll_bytes, 9838)           /* for a parked poll */                                        \
    ROW(idle_bytes, 1270)           /* for another connection of a client, which is idle */        \
    ROW(viewer_bytes, 10854)        /* for a client that follows an answer */                      \
    ROW(answer_bytes, 18125)        /* for an answer under way, and who asked for it */            \
    ROW(stored_bytes, 941)          /* memory of Redis for a question with its answer */           \
    ROW(stored_per_kib_bytes, 1065) /* and for each KiB of both */                                 \
    ROW(scripts_bytes, 1572864)     /* for the library */                                          \
    ROW(connection_bytes, 22500)    /* for a node's connection */                                  \
    ROW(connections_n, 2)           /* of a thread to a shard */                                   \
    ROW(cycle_client_bytes, 2330)   /* network, both ways, besides question and answer */          \
    ROW(cycle_redis_bytes, 1640)                                                                   \
    ROW(token_client_bytes, 580)                                                                   \
    ROW(token_redis_bytes, 230)

#define SIZE_FIELD(name, value) double name;
struct size_figures {
    SIZE_FIGURES(SIZE_FIELD)
};
#undef SIZE_FIELD
extern const struct size_figures size_figures;

struct size_load {
    double questions_per_s;
    uint64_t question_bytes, tokens_per_answer, tokens_per_s; /* of one answer */
    uint64_t engines, polls;                                  /* that wait, or work */
    uint64_t connections;                                     /* of clients that wait for nothing */
    uint64_t viewers; /* UINT64_MAX: one for each answer under way */
    uint64_t stored;  /* questions */
    uint64_t threads; /* of a node, at most */
    uint64_t redis_gib, spare_n;
};

/* How many of a thing are needed, before they are rounded up: the largest names the bound. */
enum size_bound {
    SIZE_NODE_CPU,
    SIZE_NODE_CONNECTIONS,
    SIZE_REDIS_CPU,
    SIZE_REDIS_MEMORY,
    SIZE_BOUND_NR
};

struct size_result {
    uint64_t nodes, threads;  /* with those to spare; of each */
    uint64_t masters, shards; /* servers of Redis, without replicas */
    double node_cores, redis_cores;
    double answers, viewers;    /* at a time */
    uint64_t connections;       /* of clients to a node */
    uint64_t redis_connections; /* to a server of Redis */
    double node_memory_bytes;   /* of each, without its limits (docs/operations/size.md) */
    double redis_memory_bytes;  /* of all */
    double client_bits_per_s, redis_bits_per_s;
    double share[SIZE_BOUND_NR]; /* 1: all of one node or server, as busy as it should be */
    enum size_bound bound;
};

enum {
    SIZE_BUSY_PERCENT = 60,       /* of a core, on average */
    SIZE_CONNECTIONS_MAX = 60000, /* of a node: LimitNOFILE less a reserve */
    SIZE_SHARDS_MAX = 64,
    SIZE_SYNCS_S = 8,       /* of all threads with a shard, once each has one a second, ... */
    SIZE_SYNC_LATEST_S = 15 /* ... unless there are so many that one would wait for longer */
};

const char *size_bound_name(enum size_bound bound);
/* More servers than SIZE_SHARDS_MAX in the result: it does not fit into one cluster. */
void size_compute(const struct size_load *load, struct size_result *ret_result);

#endif
