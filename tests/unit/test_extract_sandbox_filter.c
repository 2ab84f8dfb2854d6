/* SPDX-License-Identifier: MIT
 * test_extract_sandbox_filter.c - shared/extract/sandbox_filter.h and sandbox_files.h: real
 * children try what they must not do.
 *
 * The program runs itself in a sandbox as a probe, which makes one system call after the other and
 * prints what became of each. For kernels that grant less, it runs itself once more outside of any
 * sandbox, under a filter that answers in such a kernel's place. */
#include "shared/extract/sandbox_filter.h"

#include "shared/extract/memory_file.h"
#include "shared/extract/sandbox.h"
#include "shared/extract/sandbox_files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct buf out;
static int status;

/* ---- probes: what runs in the sandbox ---- */

static void say(const char *what, long result)
{
    int error = errno;
    char line[192];
    int n = result >= 0       ? snprintf(line, sizeof line, "%s ok\n", what)
            : error == EPERM  ? snprintf(line, sizeof line, "%s EPERM\n", what)
            : error == ENOSYS ? snprintf(line, sizeof line, "%s ENOSYS\n", what)
            : error == EACCES ? snprintf(line, sizeof line, "%s EACCES\n", what)
                              : snprintf(line, sizeof line, "%s %d\n", what, error);
    (void)!write(STDOUT_FILENO, line, (size_t)n);
}

#define TRY(call) say(#call, (call))

static void probe_sockets(void)
{
    int pair[2];
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    TRY(socket(AF_INET, SOCK_STREAM, 0));
    TRY(socket(AF_INET6, SOCK_DGRAM, 0));
    TRY(socket(AF_UNIX, SOCK_STREAM, 0));
    TRY(socket(AF_NETLINK, SOCK_RAW, 0));
    TRY(socket(AF_PACKET, SOCK_RAW, 0));
    TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    TRY(connect(0, (struct sockaddr *)&local, sizeof local));
    TRY(bind(0, (struct sockaddr *)&local, sizeof local));
    TRY(listen(0, 1));
    TRY(accept(0, NULL, NULL));
    TRY(send(1, "x", 1, 0));
    TRY(recv(0, pair, sizeof pair, 0));
}

static void probe_processes(void)
{
    TRY(fork());
    TRY(syscall(SYS_vfork));
    TRY(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    TRY(syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, 0, 0));
    TRY(syscall(SYS_clone3, NULL, 0));
    TRY(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    TRY(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
    TRY(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
    TRY(syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0));
    TRY(kill(getppid(), 0));
    TRY(kill(-1, 0));
    TRY(syscall(SYS_tgkill, getppid(), getppid(), 0));
    TRY(syscall(SYS_pidfd_open, getppid(), 0));
    TRY(prlimit(getppid(), RLIMIT_CPU, NULL, NULL));
    TRY(setpriority(PRIO_PROCESS, (id_t)getppid(), 5));
    TRY(fcntl(0, F_SETOWN, getppid()));
    TRY(setpgid(0, getppid()));
}

static void probe_system(void)
{
    struct perf_event_attr event = {.size = sizeof event};
    TRY(unshare(CLONE_NEWUSER));
    TRY(unshare(CLONE_NEWNS));
    TRY(setns(0, 0));
    TRY(syscall(SYS_mount, NULL, "/", NULL, 0, NULL));
    TRY(syscall(SYS_umount2, "/", 0));
    TRY(chroot("/"));
    TRY(syscall(SYS_keyctl, 0, 0));
    TRY(syscall(SYS_add_key, "user", "x", "x", 1, 0));
    TRY(syscall(SYS_bpf, 0, NULL, 0));
    TRY(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
    TRY(syscall(SYS_io_uring_setup, 1, NULL));
    TRY(syscall(SYS_kexec_load, 0, 0, NULL, 0));
    TRY(syscall(SYS_init_module, NULL, 0, ""));
    TRY(syscall(SYS_finit_module, 0, "", 0));
    TRY(syscall(SYS_userfaultfd, 0));
    TRY(ioctl(0, TIOCSTI, "x"));
    TRY(syscall(SYS_openat2, 0, NULL, NULL, 0));
    TRY(syscall(500));
}

static void probe_files(void)
{
    TRY(open("/tmp/parley-probe", O_WRONLY | O_CREAT, 0600));
    TRY(open("/dev/null", O_RDWR));
    TRY(open("/dev/null", O_RDONLY | O_TRUNC));
    TRY(mkdir("/tmp/parley-probe", 0700));
    TRY(unlink("/tmp/parley-probe"));
    TRY(rename("/tmp/parley-probe", "/tmp/parley-probe-2"));
    TRY(symlink("/tmp/parley-probe", "/tmp/parley-probe-2"));
    TRY(truncate("/tmp/parley-probe", 0));
    TRY(chmod("/tmp/parley-probe", 0777));
}

/* What a good program does. */
static void probe_allowed(void)
{
    char byte;
    TRY(open("/bin/sh", O_RDONLY | O_CLOEXEC));
    TRY(read(0, &byte, 1));
    TRY(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
            ? -1
            : 0);
    TRY(fcntl(1, F_GETFL));
    TRY(prlimit(0, RLIMIT_NOFILE, NULL, NULL));
}

static void probe_parser(void)
{
    char byte;
    TRY(sandbox_confine_parser() ? 0 : -1);
    TRY(read(0, &byte, 1));
    TRY(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
            ? -1
            : 0);
    TRY(open("/etc/passwd", O_RDONLY));
    TRY(socket(AF_INET, SOCK_STREAM, 0));
    TRY(access("/etc/passwd", R_OK));
    TRY(execl("/bin/true", "true", (char *)NULL));
    TRY(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    TRY(syscall(SYS_mprotect, &byte, 0, PROT_READ | PROT_EXEC));
    TRY(fork());
    TRY(syscall(500));
}

/* Whose answer is EACCES, which the filter never gives. */
static void probe_reading(void)
{
    char path[64];
    TRY(open("/etc/passwd", O_RDONLY));
    TRY(open("/tmp", O_RDONLY | O_DIRECTORY));
    TRY(open("/proc", O_RDONLY | O_DIRECTORY));
    snprintf(path, sizeof path, "/proc/%d/environ", getppid());
    TRY(open(path, O_RDONLY));
    snprintf(path, sizeof path, "/proc/%d/mem", getppid());
    TRY(open(path, O_RDONLY));
    snprintf(path, sizeof path, "/proc/%d/cmdline", getppid());
    TRY(open(path, O_RDONLY));
}

static void probe_network(void)
{
    char net[64] = "";
    (void)!readlink("/proc/self/ns/net", net, sizeof net - 1);
    strcat(net, "\n");
    (void)!write(STDOUT_FILENO, net, strlen(net));
    TRY(socket(AF_INET, SOCK_STREAM, 0));
}

static const struct {
    const char *name;
    void (*run)(void);
} probes[] = {{"reading", probe_reading},     {"sockets", probe_sockets},
              {"processes", probe_processes}, {"system", probe_system},
              {"files", probe_files},         {"allowed", probe_allowed},
              {"parser", probe_parser},       {"network", probe_network}};

static int probe(const char *name)
{
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        if (strcmp(name, probes[i].name) == 0) {
            probes[i].run();
            _exit(0); /* handlers of exit() would want what is refused */
        }
    return 2;
}

/* ---- kernels that grant less ---- */

static enum sandbox_end run_over(struct str text, const char *const *argv)
{
    struct memory_file file;
    memory_file_init(&file);
    assert_true(memory_file_put(&file, text) && memory_file_seal(&file));
    struct sandbox_job job = {.argv = argv, .input = file.fd, .cpu_s = 20, .wall_ms = 60000};
    status = -1;
    buf_clear(&out);
    enum sandbox_end end = sandbox_run(&job, &out, &status);
    memory_file_fini(&file);
    return end;
}

static enum sandbox_end run_probe(const char *name)
{
    const char *const argv[] = {"/proc/self/exe", "--probe", name, NULL};
    enum sandbox_end end = run_over(STR("text"), argv);
    buf_terminate(&out);
    return end;
}

/* Runs a probe where the kernel has no "filters", no "Landlock" or no "namespaces", and prints the
 * process's own network, what the log said, and what the probe printed. */
static int run_without(const char *what)
{
    scmp_filter_ctx rules = seccomp_init(SCMP_ACT_ALLOW);
    int added =
        strcmp(what, "filters") == 0
            ? seccomp_rule_add(rules, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
                               SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP))
        : strcmp(what, "Landlock") == 0
            ? seccomp_rule_add(rules, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(landlock_create_ruleset), 0)
            : seccomp_rule_add(rules, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 0);
    char net[64] = "";
    (void)!readlink("/proc/self/ns/net", net, sizeof net - 1);
    if (rules == NULL || added != 0 || seccomp_load(rules) != 0)
        return 2;
    seccomp_release(rules);
    buf_init(&out, 1 << 20);
    enum sandbox_end ends[] = {run_probe("network"), run_probe("network")};
    printf("%s\n%s", net, out.at);
    buf_fini(&out);
    fflush(stdout);
    return ends[0] == SANDBOX_EXITED && ends[1] == SANDBOX_EXITED ? 0 : 1;
}

/* Both outputs of this program with these arguments, in `out`; its exit status. */
static int run_self(const char *flag, const char *argument)
{
    int ends[2], how = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "test", flag, argument, (char *)NULL);
        _exit(2);
    }
    close(ends[1]);
    buf_clear(&out);
    for (ssize_t n = 1; n > 0;) {
        char *at = buf_reserve(&out, 4096);
        n = read(ends[0], at, 4096);
        out.n += n > 0 ? (size_t)n : 0;
    }
    close(ends[0]);
    buf_terminate(&out);
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/* ---- tests ---- */

/* Each line of what the probe printed ends with `word`, except for those that begin as `others` do;
 * returns how many lines do. */
static unsigned expect_each(const char *word, const char *others)
{
    unsigned n = 0;
    assert_int_equal(status, 0);
    for (char *line = strtok(out.at, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *space = strrchr(line, ' ');
        if (others != NULL && strncmp(line, others, strlen(others)) == 0)
            continue;
        if (space == NULL || strcmp(space + 1, word) != 0)
            fail_msg("%s", line);
        n++;
    }
    return n;
}

static void expect_line(const char *line)
{
    if (strstr(out.at, line) == NULL)
        fail_msg("no line '%s' in:\n%s", line, out.at);
}

static void a_child_has_no_sockets_of_any_kind(void **state)
{
    assert_int_equal(run_probe("sockets"), SANDBOX_EXITED);
    assert_int_equal(expect_each("EPERM", NULL), 12);
}

static void a_child_starts_no_process_and_reaches_no_other(void **state)
{
    assert_int_equal(run_probe("processes"), SANDBOX_EXITED);
    expect_line("syscall(SYS_clone3, NULL, 0) ENOSYS\n");
    assert_int_equal(expect_each("EPERM", "syscall(SYS_clone3"), 16);
}

static void a_fork_bomb_does_not_go_off(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "b() { b | b & }; b; echo over; b", NULL};
    assert_int_equal(run_over(STR(""), argv), SANDBOX_EXITED);
    assert_int_not_equal(status, 0); /* the shell gives up at its first fork */
    assert_int_equal(out.n, 0);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void a_child_steers_nothing_of_the_kernel(void **state)
{
    assert_int_equal(run_probe("system"), SANDBOX_EXITED);
    expect_line("syscall(SYS_openat2, 0, NULL, NULL, 0) ENOSYS\n");
    expect_line("syscall(500) ENOSYS\n");
    char *unknown = strstr(out.at, "syscall(SYS_openat2");
    *unknown = 0;
    assert_int_equal(expect_each("EPERM", NULL), 16);
}

static void a_child_changes_no_file(void **state)
{
    assert_int_equal(run_probe("files"), SANDBOX_EXITED);
    assert_int_equal(expect_each("EPERM", NULL), 9);
}

static void has_landlock(void)
{
    if (!sandbox_files_are_confinable())
        skip();
}

static void a_child_reads_no_settings_no_folders_and_no_other_process(void **state)
{
    has_landlock();
    assert_int_equal(run_probe("reading"), SANDBOX_EXITED);
    assert_int_equal(expect_each("EACCES", NULL), 6);
}

static void what_reading_takes_is_allowed(void **state)
{
    assert_int_equal(run_probe("allowed"), SANDBOX_EXITED);
    assert_int_equal(expect_each("ok", NULL), 5);
}

static void a_parser_opens_nothing_and_runs_nothing(void **state)
{
    assert_int_equal(run_probe("parser"), SANDBOX_EXITED);
    expect_line("sandbox_confine_parser() ? 0 : -1 ok\n");
    expect_line("read(0, &byte, 1) ok\n");
    char *refused = strstr(out.at, "open(");
    assert_non_null(refused);
    memmove(out.at, refused, strlen(refused) + 1);
    assert_int_equal(expect_each("EPERM", NULL), 8);
}

static void no_network_holds_where_the_kernel_gives_no_namespaces(void **state)
{
    assert_int_equal(run_self("--without", "namespaces"), 0);
    char *own = out.at, *childs = strchr(own, '\n') + 1;
    assert_true(strncmp(own, "net:[", 5) == 0);
    assert_true(strncmp(own, childs, (size_t)(childs - own)) == 0); /* it shares the network */
    expect_line("socket(AF_INET, SOCK_STREAM, 0) EPERM\n");
}

static void a_kernel_without_filters_is_logged_once_and_limits_hold(void **state)
{
    assert_int_equal(run_self("--without", "filters"), 0);
    char *said = strstr(out.at, "without a system call filter");
    assert_non_null(said);
    assert_null(strstr(said + 1, "without a system call filter"));
    expect_line("socket(AF_INET, SOCK_STREAM, 0) ok\n");
}

static void a_kernel_without_landlock_is_logged_once_and_the_filter_holds(void **state)
{
    assert_int_equal(run_self("--without", "Landlock"), 0);
    char *said = strstr(out.at, "the kernel does not support Landlock");
    assert_non_null(said);
    assert_null(strstr(said + 1, "the kernel does not support Landlock"));
    expect_line("socket(AF_INET, SOCK_STREAM, 0) EPERM\n");
}

static int set_up(void **state)
{
    buf_init(&out, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    buf_fini(&out);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_has_no_sockets_of_any_kind),
        cmocka_unit_test(a_child_starts_no_process_and_reaches_no_other),
        cmocka_unit_test(a_fork_bomb_does_not_go_off),
        cmocka_unit_test(a_child_steers_nothing_of_the_kernel),
        cmocka_unit_test(a_child_changes_no_file),
        cmocka_unit_test(a_child_reads_no_settings_no_folders_and_no_other_process),
        cmocka_unit_test(what_reading_takes_is_allowed),
        cmocka_unit_test(a_parser_opens_nothing_and_runs_nothing),
        cmocka_unit_test(no_network_holds_where_the_kernel_gives_no_namespaces),
        cmocka_unit_test(a_kernel_without_landlock_is_logged_once_and_the_filter_holds),
        cmocka_unit_test(a_kernel_without_filters_is_logged_once_and_limits_hold),
    };
    if (argc == 3 && strcmp(argv[1], "--probe") == 0)
        return probe(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--without") == 0)
        return run_without(argv[2]);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
