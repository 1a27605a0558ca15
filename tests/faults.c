/* Makes a chosen write, flush or rename below a folder fail, in this process: for tests, by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1, seen = 0;
static int code = 0, sticky = 0, fired = 0;
static char folder[PATH_MAX];

void arm_fault(const char *path, long number, int error, int stays) {
    snprintf(folder, sizeof folder, "%s", path);
    left = number, code = error, sticky = stays, fired = 0, seen = 0;
}

int fault_fired(void) { return fired; }

static int path_fails(const char *path) {
    if (left < 0 || strncmp(path, folder, strlen(folder)) != 0) return 0;
    if (seen++ == left || (sticky && fired)) { fired = 1; errno = code; return 1; }
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

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *data, size_t n) { REAL(write); return fails(fd) ? -1 : real(fd, data, n); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { REAL(pwrite); return fails(fd) ? -1 : real(fd, data, n, at); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { REAL(pwrite64); return fails(fd) ? -1 : real(fd, data, n, at); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); return fails(fd) ? -1 : real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return fails(fd) ? -1 : real(fd, n); }
int fsync(int fd) { REAL(fsync); return fails(fd) ? -1 : real(fd); }
int rename(const char *from, const char *to) { REAL(rename); return path_fails(to) ? -1 : real(from, to); }
