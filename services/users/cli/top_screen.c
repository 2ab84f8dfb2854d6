/* SPDX-License-Identifier: MIT
 * top_screen.c - see top.h. A process has one terminal, so this is the process's: what was set is
 * set back once, whichever way it ends. */
#include "services/users/cli/top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Another screen, no cursor, no wrapping; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

static struct termios before;
static volatile sig_atomic_t is_on, is_resized;

/* Only calls that a signal handler may make. */
static void restore(void)
{
    if (!is_on)
        return;
    is_on = 0;
    ssize_t written = write(STDOUT_FILENO, LEAVE, sizeof LEAVE - 1);
    (void)written;
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void on_resize(int number)
{
    (void)number;
    is_resized = 1;
}

/* Handles signals that are not waited for (shared/op/signals.h): a crash, an abort, Ctrl-\. */
static void on_death(int number)
{
    restore();
    signal(number, SIG_DFL);
    raise(number);
}

static void write_all(struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(STDOUT_FILENO, text.at, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* the terminal has gone: SIGHUP is on its way */
        text.at += n;
        text.n -= (size_t)n;
    }
}

bool top_screen_begin(void)
{
    static const int deadly[] = {SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    struct sigaction resize = {.sa_handler = on_resize};
    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    struct termios raw = before;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO); /* ISIG stays: Ctrl-C ends it as anything else */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    atexit(restore);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], on_death);
    sigaction(SIGWINCH, &resize, NULL); /* without SA_RESTART: it ends a wait */
    is_on = 1;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    write_all(STR(ENTER));
    return true;
}

void top_screen_end(void)
{
    restore();
}

void top_screen_size(unsigned *ret_columns, unsigned *ret_lines)
{
    struct winsize size = {0};
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    *ret_columns = is_known && size.ws_col > 0 ? size.ws_col : 80;
    *ret_lines = is_known && size.ws_row > 0 ? size.ws_row : 24;
}

/* Written over, line by line, so that nothing flickers. */
void top_screen_draw(struct str text)
{
    struct buf out;
    buf_init(&out, SIZE_MAX / 2);
    buf_lit(&out, HOME);
    while (text.at != NULL) {
        buf_put(&out, str_cut(&text, '\n'));
        buf_lit(&out, CLEAR_LINE);
        if (text.at != NULL)
            buf_lit(&out, "\r\n");
    }
    buf_lit(&out, CLEAR_REST);
    write_all(buf_str(&out));
    buf_fini(&out);
}

enum top_key top_screen_key(void)
{
    char c;
    enum top_key key = is_resized ? TOP_REFRESH : TOP_NO_KEY;
    is_resized = 0;
    while (read(STDIN_FILENO, &c, 1) == 1) {
        if (c == 'q' || c == 'Q')
            return TOP_QUIT;
        if (c == ' ' || c == 'r')
            key = TOP_REFRESH;
    }
    return key;
}
