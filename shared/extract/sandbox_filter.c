/* SPDX-License-Identifier: MIT
 * sandbox_filter.c - see sandbox_filter.h.
 *
 * The filter of the sandbox is a list of what is refused, since the program is a foreign one:
 * which calls pdftotext makes differs between versions of poppler and of the C library. A list of
 * what is allowed would one day break a good document. Calls that are newer than the list are
 * refused as unknown (ENOSYS), which libraries expect of an older kernel, so no new door opens by
 * itself. The filter of a parser is a list of what is allowed: what our own program needs is known.
 *
 * Filters see numbers, not what pointers point to. Hence clone3 and openat2, which take their flags
 * in memory, are unknown here: libraries then use clone and openat. Calls of another architecture
 * of the same kernel (32 bits, x32) end the process.
 *
 * libseccomp allocates, which a child may not do between fork and execve. So the parent turns the
 * rules into a program of the kernel's, and the child only installs it. */
#include "shared/extract/sandbox_filter.h"

#include "shared/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    REFUSE = SCMP_ACT_ERRNO(EPERM),
    UNKNOWN = SCMP_ACT_ERRNO(ENOSYS),
    /* io_uring_setup has this number on most machines; since then all have the same ones, so that
     * a distance says which number a call has. */
    IO_URING_NR = 425,
    FIRST_NEWER_NR = 457, /* the lists were made when futex_requeue (456) was the newest */
    LAST_NEWER_NR = 511,
};

/* ---- what the sandbox refuses ---- */

static const char *const refused[] = {
    /* network and local sockets */
    "socket", "socketpair", "socketcall", "connect", "bind", "listen", "accept", "accept4",
    "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64",
    "shutdown", "getsockname", "getpeername", "getsockopt", "setsockopt",
    /* processes and threads */
    "fork", "vfork", "clone", "execveat",
    /* other processes, also by their signals, limits and turns */
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "kcmp", "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "kill", "tkill", "tgkill",
    "rt_sigqueueinfo", "rt_tgsigqueueinfo", "setpriority", "ioprio_set", "sched_setaffinity",
    "sched_setattr", "sched_setparam", "sched_setscheduler", "migrate_pages", "move_pages",
    "setpgid", "setsid",
    /* System V and POSIX objects that processes share */
    "ipc", "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop",
    "semctl", "semtimedop", "semtimedop_time64", "mq_open", "mq_unlink",
    /* namespaces and mounts */
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig",
    "fsmount", "fspick", "move_mount", "open_tree", "mount_setattr",
    /* keys */
    "add_key", "request_key", "keyctl",
    /* the kernel and the machine */
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "io_setup", "io_submit", "kexec_load", "kexec_file_load", "create_module",
    "init_module", "finit_module", "delete_module", "reboot", "syslog", "acct", "swapon", "swapoff",
    "quotactl", "quotactl_fd", "settimeofday", "stime", "clock_settime", "clock_settime64",
    "adjtimex", "clock_adjtime", "clock_adjtime64", "sethostname", "setdomainname", "iopl",
    "ioperm", "vhangup", "lookup_dcookie", "uselib", "modify_ldt", "vm86", "vm86old",
    "memfd_secret", "fanotify_init", "fanotify_mark", "name_to_handle_at", "open_by_handle_at",
    /* files that are changed without being written to; open has rules of its own */
    "creat", "mknod", "mknodat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename",
    "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "truncate", "truncate64",
    "ftruncate", "ftruncate64", "fallocate", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown",
    "chown32", "fchown", "fchown32", "lchown", "lchown32", "fchownat", "utime", "utimes",
    "futimesat", "utimensat", "utimensat_time64", "setxattr", "lsetxattr", "fsetxattr",
    "removexattr", "lremovexattr", "fremovexattr"};

static const char *const unknown[] = {"clone3", "openat2"};

/* True when the call is refused from now on, or this machine has no such call. */
static bool refuse(scmp_filter_ctx rules, uint32_t action, const char *name,
                   const struct scmp_arg_cmp *when)
{
    int nr = seccomp_syscall_resolve_name(name);
    if (nr == __NR_SCMP_ERROR)
        return true;
    return seccomp_rule_add_array(rules, action, nr, when != NULL, when) == 0;
}

/* Refuses to open for writing, to create and to empty. */
static bool refuse_writing(scmp_filter_ctx rules, const char *name, unsigned flags_at)
{
    static const unsigned bits[] = {O_CREAT, O_TRUNC};
    bool is_done = true;
    for (unsigned mode = O_WRONLY; mode <= O_ACCMODE; mode++)
        is_done &=
            refuse(rules, REFUSE, name, &SCMP_CMP(flags_at, SCMP_CMP_MASKED_EQ, O_ACCMODE, mode));
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        is_done &=
            refuse(rules, REFUSE, name, &SCMP_CMP(flags_at, SCMP_CMP_MASKED_EQ, bits[i], bits[i]));
    return is_done;
}

/* Refuses some commands of a call: its argument `at` is one of them. */
static bool refuse_commands(scmp_filter_ctx rules, const char *name, unsigned at,
                            const unsigned *commands, size_t n)
{
    bool is_done = true;
    for (size_t i = 0; i < n; i++)
        is_done &=
            refuse(rules, REFUSE, name, &SCMP_CMP(at, SCMP_CMP_MASKED_EQ, UINT32_MAX, commands[i]));
    return is_done;
}

static bool put_sandbox_rules(scmp_filter_ctx rules)
{
    /* Signals to others, when something happens to a file; keystrokes for a terminal. */
    static const unsigned owners[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};
    static const unsigned keystrokes[] = {TIOCSTI, TIOCLINUX};
    bool is_done = true;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        is_done &= refuse(rules, REFUSE, refused[i], NULL);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        is_done &= refuse(rules, UNKNOWN, unknown[i], NULL);
    is_done &= refuse_writing(rules, "open", 1) && refuse_writing(rules, "openat", 2);
    is_done &= refuse_commands(rules, "fcntl", 1, owners, sizeof owners / sizeof *owners);
    is_done &= refuse_commands(rules, "fcntl64", 1, owners, sizeof owners / sizeof *owners);
    is_done &=
        refuse_commands(rules, "ioctl", 1, keystrokes, sizeof keystrokes / sizeof *keystrokes);
    /* Limits of others. */
    is_done &= refuse(rules, REFUSE, "prlimit64", &SCMP_A0(SCMP_CMP_NE, 0));
    int base = seccomp_syscall_resolve_name("io_uring_setup") - IO_URING_NR;
    for (int nr = FIRST_NEWER_NR; base >= 0 && nr <= LAST_NEWER_NR; nr++)
        is_done &= seccomp_rule_add(rules, UNKNOWN, base + nr, 0) == 0;
    return is_done;
}

/* ---- what a parser may do ---- */

static bool put_parser_rules(scmp_filter_ctx rules)
{
    static const char *const allowed[] = {"read",
                                          "readv",
                                          "write",
                                          "writev",
                                          "close",
                                          "lseek",
                                          "_llseek",
                                          "brk",
                                          "munmap",
                                          "mremap",
                                          "madvise",
                                          "futex",
                                          "futex_time64",
                                          "sched_yield",
                                          "getrandom",
                                          "rt_sigprocmask",
                                          "rt_sigreturn",
                                          "sigreturn",
                                          "sigaltstack",
                                          "restart_syscall",
                                          "getpid",
                                          "gettid",
                                          "clock_gettime",
                                          "clock_gettime64",
                                          "gettimeofday",
                                          "time",
                                          "nanosleep",
                                          "clock_nanosleep",
                                          "clock_nanosleep_time64",
                                          "exit",
                                          "exit_group"};
    static const char *const mappings[] = {"mmap", "mmap2", "mprotect"};
    bool is_done = true;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        is_done &= refuse(rules, SCMP_ACT_ALLOW, allowed[i], NULL);
    /* No new code. */
    for (size_t i = 0; i < sizeof mappings / sizeof *mappings; i++)
        is_done &=
            refuse(rules, SCMP_ACT_ALLOW, mappings[i], &SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    return is_done;
}

/* ---- what a database may do besides ---- */

static bool put_database_rules(scmp_filter_ctx rules)
{
    static const char *const allowed[] = {
        "pread64",   "pwrite64",    "preadv",  "pwritev",   "fsync",      "fdatasync",
        "ftruncate", "ftruncate64", "fstat",   "fstat64",   "newfstatat", "fstatat64",
        "statx",     "stat",        "stat64",  "lstat",     "lstat64",    "access",
        "faccessat", "faccessat2",  "geteuid", "geteuid32", "fallocate"};
    /* Its locks; no signals, no owners. */
    static const unsigned locks[] = {F_GETLK, F_SETLK, F_SETLKW, F_GETFD, F_GETFL};
    bool is_done = put_parser_rules(rules);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        is_done &= refuse(rules, SCMP_ACT_ALLOW, allowed[i], NULL);
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        const struct scmp_arg_cmp is_lock = SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, locks[i]);
        is_done &= refuse(rules, SCMP_ACT_ALLOW, "fcntl", &is_lock) &&
                   refuse(rules, SCMP_ACT_ALLOW, "fcntl64", &is_lock);
    }
    return is_done;
}

/* ---- all ---- */

/* Without a filter to be read the kernel finds a bad address; one that does not filter finds the
 * wish itself bad. */
static bool does_kernel_filter(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT;
}

/* Rules for a filter that does `otherwise` where none of them applies; NULL when they cannot be
 * had. */
static scmp_filter_ctx make_rules(uint32_t otherwise, bool (*put_rules)(scmp_filter_ctx rules))
{
    scmp_filter_ctx rules = seccomp_init(otherwise);
    if (rules != NULL &&
        seccomp_attr_set(rules, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
        put_rules(rules))
        return rules;
    seccomp_release(rules);
    return NULL;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sock_fprog filter; /* len 0: there is none */

/* Turns rules into the program of the kernel's that they come to, which is kept forever. */
static void keep(scmp_filter_ctx rules)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    off_t size = fd >= 0 && seccomp_export_bpf(rules, fd) == 0 ? lseek(fd, 0, SEEK_CUR) : -1;
    size_t n = size > 0 ? (size_t)size / sizeof(struct sock_filter) : 0;
    struct sock_filter *steps = n > 0 && n <= BPF_MAXINSNS ? malloc((size_t)size) : NULL;
    if (steps != NULL && pread(fd, steps, (size_t)size, 0) == size)
        filter = (struct sock_fprog){.len = (unsigned short)n, .filter = steps};
    else
        free(steps);
    if (fd >= 0)
        close(fd);
}

static void make_once(void)
{
    bool is_possible = does_kernel_filter();
    scmp_filter_ctx rules = is_possible ? make_rules(SCMP_ACT_ALLOW, put_sandbox_rules) : NULL;
    if (rules != NULL)
        keep(rules);
    seccomp_release(rules);
    if (filter.len == 0)
        log_write(LOG_WARN, "document readers run without a system call filter",
                  LOG_S("reason", is_possible ? "libseccomp cannot build it"
                                              : "the kernel does not support seccomp filters"));
}

const struct sock_fprog *sandbox_filter(void)
{
    pthread_once(&once, make_once);
    return filter.len > 0 ? &filter : NULL;
}

bool sandbox_filter_install(const struct sock_fprog *program)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) == 0;
}

static bool confine(bool (*put_rules)(scmp_filter_ctx rules))
{
    scmp_filter_ctx rules = does_kernel_filter() ? make_rules(REFUSE, put_rules) : NULL;
    bool is_done = rules == NULL || seccomp_load(rules) == 0;
    seccomp_release(rules);
    return is_done;
}

bool sandbox_confine_parser(void)
{
    return confine(put_parser_rules);
}

bool sandbox_confine_database(void)
{
    return confine(put_database_rules);
}
