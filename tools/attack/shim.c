/* Makes calls of the system fail, for programs that run with LD_PRELOAD of this.
 *
 * GIRIH_FAULT says how, GIRIH_FAULT_AT at which call (from 1; without it, at every one where a repeated call can
 * still succeed), GIRIH_FAULT_LOG a file that gets a byte for each fault. Calls on regular files
 * count, but not on standard error, and not on what the system shows as files (/proc, /sys).
 *
 *   enospc eio-write eio-read     a write, or read, fails; with GIRIH_FAULT_ON all that follow fail too
 *   eio-sync eio-rename eio-open  fsync, rename and open to write fail
 *   short                         reads and writes move a few bytes only
 *   eintr                         every other read and write is interrupted
 *   clock                         clocks jump to and fro by up to an hour
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char *fault;
static long fault_at;
static int fault_on;
static int log_fd = -1;
static atomic_long calls;

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("GIRIH_FAULT_AT"), *log = getenv("GIRIH_FAULT_LOG");
    fault = getenv("GIRIH_FAULT");
    if (!fault) fault = "";
    fault_at = at ? atol(at) : 0;
    fault_on = getenv("GIRIH_FAULT_ON") != NULL;
    if (log) log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static int is(const char *name) { return fault && !strcmp(fault, name); }

static void note(void) {
    if (log_fd >= 0) syscall(SYS_write, log_fd, "x", 1L);
}

/* Whether this call, the next that counts, is one that fails. */
static int hit(void) {
    long call = atomic_fetch_add(&calls, 1) + 1;
    int found = call == fault_at || (fault_on && fault_at && call > fault_at);
    if (found) note();
    return found;
}

static int regular(int fd) {
    struct stat st;
    struct statfs fs;
    return fd != log_fd && fd != 2 && syscall(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode) &&
           syscall(SYS_fstatfs, fd, &fs) == 0 && fs.f_type != 0x9fa0 && fs.f_type != 0x62656572 &&
           fs.f_type != 0x63677270;
}

/* 0, or the error that the call gives; may make the call shorter. */
static int disturb(int fd, int writes, size_t *len) {
    if (!*fault || !regular(fd)) return 0;
    if (writes && is("enospc")) return hit() ? ENOSPC : 0;
    if (writes && is("eio-write")) return hit() ? EIO : 0;
    if (!writes && is("eio-read")) return hit() ? EIO : 0;
    if (is("short") && *len > 1) {
        long call = atomic_fetch_add(&calls, 1);
        /* Mostly small, at times a byte; never nothing, which would mean the end. */
        size_t most = call % 7 == 0 ? 1 : 4096 + (size_t)(call * 7919 % 9000);
        if (*len > most) note(), *len = most;
    }
    if (is("eintr") && atomic_fetch_add(&calls, 1) % 2 == 0) return note(), EINTR;
    return 0;
}

#define REFUSE(fd, writes, len)                                                                             \
    do {                                                                                                    \
        int refused = disturb(fd, writes, len);                                                             \
        if (refused) { errno = refused; return -1; }                                                        \
    } while (0)

ssize_t write(int fd, const void *p, size_t n) { REFUSE(fd, 1, &n); return syscall(SYS_write, fd, p, n); }
ssize_t read(int fd, void *p, size_t n) { REFUSE(fd, 0, &n); return syscall(SYS_read, fd, p, n); }
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at) {
    REFUSE(fd, 1, &n);
    return syscall(SYS_pwrite64, fd, p, n, at);
}
ssize_t pread64(int fd, void *p, size_t n, off64_t at) {
    REFUSE(fd, 0, &n);
    return syscall(SYS_pread64, fd, p, n, at);
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at) { return pwrite64(fd, p, n, at); }
ssize_t pread(int fd, void *p, size_t n, off_t at) { return pread64(fd, p, n, at); }

/* The first of several buffers: a short call too. */
ssize_t writev(int fd, const struct iovec *v, int n) {
    size_t len = n > 0 ? v[0].iov_len : 0;
    if (!*fault || !regular(fd)) return syscall(SYS_writev, fd, v, (long)n);
    REFUSE(fd, 1, &len);
    return syscall(SYS_write, fd, n > 0 ? v[0].iov_base : NULL, len);
}
ssize_t readv(int fd, const struct iovec *v, int n) {
    size_t len = n > 0 ? v[0].iov_len : 0;
    if (!*fault || !regular(fd)) return syscall(SYS_readv, fd, v, (long)n);
    REFUSE(fd, 0, &len);
    return syscall(SYS_read, fd, n > 0 ? v[0].iov_base : NULL, len);
}
/* Copies within the kernel are no way around. */
ssize_t copy_file_range(int a, off64_t *b, int c, off64_t *d, size_t e, unsigned f) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    errno = ENOSYS;
    return -1;
}
int fsync(int fd) {
    if (is("eio-sync") && hit()) return errno = EIO, -1;
    return syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
    if (is("eio-sync") && hit()) return errno = EIO, -1;
    return syscall(SYS_fdatasync, fd);
}
int rename(const char *from, const char *to) {
    if (is("eio-rename") && hit()) return errno = EIO, -1;
    return syscall(SYS_rename, from, to);
}
static int opened(int at, const char *path, int flags, mode_t mode) {
    if ((flags & O_ACCMODE) != O_RDONLY && is("eio-open") && hit()) return errno = EIO, -1;
    return syscall(SYS_openat, at, path, flags, mode);
}
#define MODE(flags, mode)                                                                                   \
    mode_t mode = 0;                                                                                        \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                    \
        va_list list;                                                                                       \
        va_start(list, flags);                                                                              \
        mode = va_arg(list, mode_t);                                                                        \
        va_end(list);                                                                                       \
    }
int open64(const char *path, int flags, ...) { MODE(flags, mode); return opened(AT_FDCWD, path, flags, mode); }
int open(const char *path, int flags, ...) { MODE(flags, mode); return opened(AT_FDCWD, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags, mode); return opened(at, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags, mode); return opened(at, path, flags, mode); }

int clock_gettime(clockid_t clock, struct timespec *to) {
    int failed = syscall(SYS_clock_gettime, clock, to);
    if (!failed && is("clock")) {
        long call = atomic_fetch_add(&calls, 1);
        long jump = (call * 2654435761L >> 8) % 3601;
        note();
        to->tv_sec += call % 2 ? jump : -jump;
        if (to->tv_sec < 0) to->tv_sec = 0;
    }
    return failed;
}
