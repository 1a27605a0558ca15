/* Makes a chosen write, flush or rename below a folder fail, or kills this process at a chosen call that changes
   something below a folder: for tests, by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1, seen = 0;
static int code = 0, sticky = 0, fired = 0, kills = 0;
static char folder[PATH_MAX];

void arm_fault(const char *path, long number, int error, int stays) {
    snprintf(folder, sizeof folder, "%s", path);
    left = number, code = error, sticky = stays, fired = 0, kills = 0, seen = 0;
}

/* Kill this process instead of the call of this number, and count the other calls too, by which files come and go. */
void arm_kill(const char *path, long number) { arm_fault(path, number, 0, 0); kills = 1; }

int fault_fired(void) { return fired; }
long calls_seen(void) { return seen; }

static int path_fails(const char *path) {
    if (left < 0 || strncmp(path, folder, strlen(folder)) != 0) return 0;
    /* Threads can make two calls at once. */
    long number = __atomic_fetch_add(&seen, 1, __ATOMIC_SEQ_CST);
    if (kills) { if (number == left) kill(getpid(), SIGKILL); return 0; }
    if (number == left || (sticky && fired)) { fired = 1; errno = code; return 1; }
    return 0;
}

static int fails(int fd) {
    char link[64], path[PATH_MAX];
    if (left < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return path_fails(path);
}

static void may_kill_at(int parent, const char *path) {
    char whole[2 * PATH_MAX], link[64];
    ssize_t n = 0;
    if (left < 0 || !kills) return;
    if (path[0] != '/') {
        if (parent == AT_FDCWD) {
            if (!getcwd(whole, PATH_MAX)) return;
            n = strlen(whole);
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", parent);
            if ((n = readlink(link, whole, PATH_MAX - 1)) < 0) return;
        }
        whole[n++] = '/';
    }
    snprintf(whole + n, sizeof whole - n, "%s", path);
    path_fails(whole);
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *data, size_t n) { REAL(write); return fails(fd) ? -1 : real(fd, data, n); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { REAL(pwrite); return fails(fd) ? -1 : real(fd, data, n, at); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { REAL(pwrite64); return fails(fd) ? -1 : real(fd, data, n, at); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); return fails(fd) ? -1 : real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return fails(fd) ? -1 : real(fd, n); }
int fsync(int fd) { REAL(fsync); return fails(fd) ? -1 : real(fd); }
int rename(const char *from, const char *to) { REAL(rename); return path_fails(to) ? -1 : real(from, to); }

/* These never fail here, but are counted for `arm_kill`. */
static int may_kill_at_descriptor(int fd) { return kills && fails(fd); }
#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...) {                               \
        REAL(name);                                                            \
        va_list rest;                                                          \
        va_start(rest, flags);                                                 \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                          \
        if (flags & (O_CREAT | O_TRUNC)) may_kill_at(AT_FDCWD, path);          \
        return real(path, flags, mode);                                        \
    }
OPEN(open)
OPEN(open64)
int unlink(const char *path) { REAL(unlink); may_kill_at(AT_FDCWD, path); return real(path); }
int unlinkat(int parent, const char *path, int flags) { REAL(unlinkat); may_kill_at(parent, path); return real(parent, path, flags); }
int rmdir(const char *path) { REAL(rmdir); may_kill_at(AT_FDCWD, path); return real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); may_kill_at(AT_FDCWD, path); return real(path, mode); }
int link(const char *from, const char *to) { REAL(link); may_kill_at(AT_FDCWD, to); return real(from, to); }
int renameat2(int from_parent, const char *from, int to_parent, const char *to, unsigned flags) {
    REAL(renameat2);
    may_kill_at(to_parent, to);
    return real(from_parent, from, to_parent, to, flags);
}
ssize_t sendfile(int out, int in, off_t *at, size_t n) { REAL(sendfile); may_kill_at_descriptor(out); return real(out, in, at, n); }
ssize_t sendfile64(int out, int in, off64_t *at, size_t n) { REAL(sendfile64); may_kill_at_descriptor(out); return real(out, in, at, n); }
