// Stands between a server and its files (LD_PRELOAD): counts the operations below one directory, fails the one asked
// for, and records all of them, so that `disk.rs` can tell what a power cut would have left.
//
//   SHIM_DIRECTORY  absolute path; only what lies at or below it is looked at (but nothing in spill/: it may be lost)
//   SHIM_CONTROL    a file of the words below, shared with the test, which reads and writes it while the server runs
//   SHIM_TRACE      where operations are recorded, if set: a `struct record`, the path, then a write's data or a
//                   rename's new path
//
// One lock is held around each operation and its record, so that the record has them in the order they happened. It sees
// calls to libc, and so everything that Rust's standard library does; system calls made without libc would escape it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

// The words of the control file; `shim.rs` has the same list.
enum { CALLS, ARMED, FAIL_AT, ERRNO, MODE, MASK, FIRED, TRACED, WORDS };
// What a fault does at the call FAIL_AT: fail once; fail from then on; write half, then fail; write half, no error; as a
// full disk from then on (only what needs space fails); never return; wait, and all after it, until the shim is disarmed.
enum { ONCE, ALWAYS, SHORT_THEN_FAIL, SHORT, FULL, HANG, HOLD };
// Kinds of calls, bits of MASK.
enum { WRITE = 1, SYNC = 2, RESIZE = 4, OPEN = 8, RENAME = 16, UNLINK = 32, RANGE = 64, MKDIR = 128 };
// What is recorded; `trace.rs` has the same list.
enum { DID_CREATE = 1, DID_MKDIR, DID_WRITE, DID_WRITE_DURABLE, DID_SYNC, DID_RANGE, DID_RESIZE, DID_RENAME, DID_UNLINK };

struct record { uint32_t what, path_length; uint64_t offset, length; };

#define DESCRIPTORS 65536
static char *paths[DESCRIPTORS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t *control;
static const char *directory;
static int trace = -1;

__attribute__((constructor)) static void start(void) {
    if (directory) return;
    directory = getenv("SHIM_DIRECTORY");
    if (!directory) directory = "/nowhere";
    const char *name = getenv("SHIM_CONTROL");
    int file = name ? syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *mapped = mmap(0, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        control = mapped == MAP_FAILED ? 0 : mapped;
        syscall(SYS_close, file);
    }
    name = getenv("SHIM_TRACE");
    if (name) trace = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void lock(void) { pthread_mutex_lock(&mutex); }
// Answers `result`, errno kept.
static long unlock(long result) { int kept = errno; pthread_mutex_unlock(&mutex); errno = kept; return result; }

static int is_ours(const char *path) {
    size_t length = strlen(directory);
    if (strncmp(path, directory, length) || (path[length] && path[length] != '/')) return 0;
    return strncmp(path + length, "/spill", 6) != 0;
}
static const char *path_of(int file) { return file >= 0 && file < DESCRIPTORS ? paths[file] : 0; }
static void name_descriptor(long file, const char *path) {
    if (file < 0 || file >= DESCRIPTORS) return;
    free(paths[file]);
    paths[file] = path ? strdup(path) : 0;
}
// The path that a call means, in `buffer` when it has to be put together; null when it is not ours.
static const char *resolve(int folder, const char *path, char *buffer, size_t room) {
    start();
    if (path[0] != '/') {
        const char *base = folder == AT_FDCWD ? 0 : path_of(folder);
        if (!base || snprintf(buffer, room, "%s/%s", base, path) >= (int)room) return 0;
        path = buffer;
    }
    return is_ours(path) ? path : 0;
}
static off_t size_of(int file) { struct stat about; return fstat(file, &about) ? 0 : about.st_size; }

// What becomes of a call.
enum { GO_ON, FAIL, HALVE };
// Called with the lock held. `grows`: whether the call needs space on the disk.
static int judge(int kind, int grows) {
    if (!control || !control[ARMED] || !(control[MASK] & kind)) return GO_ON;
    uint64_t call = ++control[CALLS], at = control[FAIL_AT], mode = control[MODE];
    if (!at || call < at) return GO_ON;
    int first = call == at, verdict = GO_ON;
    switch (mode) {
    case ONCE: if (first) verdict = FAIL; break;
    case ALWAYS: verdict = FAIL; break;
    case SHORT_THEN_FAIL:
        if (first) verdict = kind == WRITE ? HALVE : FAIL;
        else if (call == at + 1) verdict = FAIL;
        break;
    case SHORT: if (first && kind == WRITE) verdict = HALVE; break;
    case FULL: if (grows) verdict = FAIL; break;
    case HOLD: {
        // Who arms it again begins to count anew.
        uint64_t mine = ++control[FIRED];
        pthread_mutex_unlock(&mutex);
        while (control[ARMED] && control[FIRED] >= mine) usleep(1000);
        lock();
        return GO_ON;
    }
    case HANG: control[FIRED]++; pthread_mutex_unlock(&mutex); for (;;) pause();
    }
    if (verdict != GO_ON) control[FIRED]++;
    if (verdict == FAIL) errno = (int)control[ERRNO];
    return verdict;
}
static void record(int what, const char *path, uint64_t offset, uint64_t length, const void *data, size_t bytes) {
    if (trace < 0) return;
    struct record head = { what, strlen(path), offset, length };
    struct iovec parts[3] = { { &head, sizeof head }, { (void *)path, head.path_length }, { (void *)data, bytes } };
    long written = syscall(SYS_writev, trace, parts, bytes ? 3 : 2);
    // Half a record would make nonsense of all that follow.
    if (written != (long)(sizeof head + head.path_length + bytes)) abort();
    if (control) control[TRACED] += written;
}

// ---- opening and closing ----
static int open_file(int folder, const char *given, int flags, mode_t mode) {
    char buffer[4096];
    const char *path = resolve(folder, given, buffer, sizeof buffer);
    if (!path) return syscall(SYS_openat, folder, given, flags, mode);
    lock();
    struct stat about;
    int writes = (flags & O_ACCMODE) != O_RDONLY, existed = stat(path, &about) == 0;
    if (writes && judge(OPEN, !existed) == FAIL) return unlock(-1);
    int file = syscall(SYS_openat, folder, given, flags, mode);
    if (file >= 0) {
        name_descriptor(file, path);
        if (!existed) record(DID_CREATE, path, 0, 0, 0, 0);
        else if (writes && (flags & O_TRUNC)) record(DID_RESIZE, path, 0, 0, 0, 0);
    }
    return unlock(file);
}
#define MODE_ARGUMENT \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, int); va_end(rest); }
EXPORT int open(const char *path, int flags, ...) { MODE_ARGUMENT return open_file(AT_FDCWD, path, flags, mode); }
EXPORT int open64(const char *path, int flags, ...) { MODE_ARGUMENT return open_file(AT_FDCWD, path, flags, mode); }
EXPORT int openat(int folder, const char *path, int flags, ...) { MODE_ARGUMENT return open_file(folder, path, flags, mode); }
EXPORT int openat64(int folder, const char *path, int flags, ...) { MODE_ARGUMENT return open_file(folder, path, flags, mode); }
// A library that renames by a system call of its own (tempfile does) escapes us; its descriptor tells the new name.
static void notice_rename(int file) {
    char link[64], now[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, now, sizeof now - 1);
    if (length <= 0) return;
    now[length] = 0;
    if (strcmp(now, paths[file]) && is_ours(now) && !strstr(now, " (deleted)"))
        record(DID_RENAME, paths[file], 0, length, now, length);
}
EXPORT int close(int file) {
    if (!path_of(file)) return syscall(SYS_close, file);
    lock();
    notice_rename(file);
    name_descriptor(file, 0);
    return unlock(syscall(SYS_close, file));
}
static int control_file(int file, int command, void *argument) {
    if (!path_of(file) || (command != F_DUPFD && command != F_DUPFD_CLOEXEC)) return syscall(SYS_fcntl, file, command, argument);
    lock();
    int copy = syscall(SYS_fcntl, file, command, argument);
    name_descriptor(copy, path_of(file));
    return unlock(copy);
}
#define POINTER_ARGUMENT void *argument; { va_list rest; va_start(rest, command); argument = va_arg(rest, void *); va_end(rest); }
EXPORT int fcntl(int file, int command, ...) { POINTER_ARGUMENT return control_file(file, command, argument); }
EXPORT int fcntl64(int file, int command, ...) { POINTER_ARGUMENT return control_file(file, command, argument); }
static int copy_descriptor(int file, int copy, int flags) {
    if (!path_of(file) && !path_of(copy)) return syscall(SYS_dup3, file, copy, flags);
    lock();
    int result = syscall(SYS_dup3, file, copy, flags);
    if (result >= 0) name_descriptor(result, path_of(file));
    return unlock(result);
}
EXPORT int dup2(int file, int copy) { return file == copy ? file : copy_descriptor(file, copy, 0); }
EXPORT int dup3(int file, int copy, int flags) { return copy_descriptor(file, copy, flags); }

// ---- writing ----
// `offset` below zero: at the file's own position.
static ssize_t write_file(int file, const void *data, size_t bytes, int64_t offset) {
    const char *path = path_of(file);
    if (!path) return offset < 0 ? syscall(SYS_write, file, data, bytes) : syscall(SYS_pwrite64, file, data, bytes, offset);
    lock();
    int flags = syscall(SYS_fcntl, file, F_GETFL, 0);
    int64_t at = offset >= 0 ? offset : flags & O_APPEND ? size_of(file) : lseek(file, 0, SEEK_CUR);
    int verdict = judge(WRITE, at + (int64_t)bytes > size_of(file));
    if (verdict == FAIL) return unlock(-1);
    // A direct write has to stay aligned.
    if (verdict == HALVE && bytes > 1) bytes = flags & O_DIRECT ? bytes / 2 / 4096 * 4096 : bytes / 2;
    if (verdict == HALVE && !bytes) { errno = (int)control[ERRNO]; return unlock(-1); }
    ssize_t written = offset < 0 ? syscall(SYS_write, file, data, bytes) : syscall(SYS_pwrite64, file, data, bytes, offset);
    int kept = errno;
    // O_SYNC has the bit of O_DSYNC in it.
    if (written > 0) record(flags & O_DSYNC ? DID_WRITE_DURABLE : DID_WRITE, path, at, written, data, written);
    errno = kept;
    return unlock(written);
}
// As the first of its parts: a short write, which callers must expect.
static ssize_t write_parts(int file, const struct iovec *parts, int count, int64_t offset) {
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return write_file(file, parts[i].iov_base, parts[i].iov_len, offset);
    return 0;
}
EXPORT ssize_t write(int file, const void *data, size_t bytes) { return write_file(file, data, bytes, -1); }
EXPORT ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset) { return write_file(file, data, bytes, offset); }
EXPORT ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t offset) { return write_file(file, data, bytes, offset); }
EXPORT ssize_t writev(int file, const struct iovec *parts, int count) {
    return path_of(file) ? write_parts(file, parts, count, -1) : syscall(SYS_writev, file, parts, count);
}
EXPORT ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    return path_of(file) ? write_parts(file, parts, count, offset) : syscall(SYS_pwritev, file, parts, count, offset, 0);
}
EXPORT ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) { return pwritev(file, parts, count, offset); }
// Copies inside the kernel are refused: callers then read and write.
EXPORT ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t bytes, unsigned flags) {
    if (path_of(to)) { errno = ENOSYS; return -1; }
    return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, bytes, flags);
}
EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t bytes) {
    if (path_of(to)) { errno = ENOSYS; return -1; }
    return syscall(SYS_sendfile, to, from, offset, bytes);
}
EXPORT ssize_t sendfile64(int to, int from, off64_t *offset, size_t bytes) { return sendfile(to, from, offset, bytes); }

// ---- syncing and sizes ----
static int sync_file(int file, int call) {
    const char *path = path_of(file);
    if (!path) return syscall(call, file);
    lock();
    if (judge(SYNC, 0) == FAIL) return unlock(-1);
    int result = syscall(call, file);
    if (!result) record(DID_SYNC, path, 0, 0, 0, 0);
    return unlock(result);
}
EXPORT int fsync(int file) { return sync_file(file, SYS_fsync); }
EXPORT int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }
EXPORT int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
    const char *path = path_of(file);
    if (!path) return syscall(SYS_sync_file_range, file, offset, bytes, flags);
    lock();
    if (judge(RANGE, 0) == FAIL) return unlock(-1);
    int result = syscall(SYS_sync_file_range, file, offset, bytes, flags);
    if (!result) record(DID_RANGE, path, offset, bytes, 0, 0);
    return unlock(result);
}
static int resize_file(int file, off_t size) {
    const char *path = path_of(file);
    if (!path) return syscall(SYS_ftruncate, file, size);
    lock();
    if (judge(RESIZE, 0) == FAIL) return unlock(-1);
    int result = syscall(SYS_ftruncate, file, size);
    if (!result) record(DID_RESIZE, path, size, 0, 0, 0);
    return unlock(result);
}
EXPORT int ftruncate(int file, off_t size) { return resize_file(file, size); }
EXPORT int ftruncate64(int file, off64_t size) { return resize_file(file, size); }
EXPORT int fallocate(int file, int mode, off_t offset, off_t bytes) {
    const char *path = path_of(file);
    if (!path) return syscall(SYS_fallocate, file, mode, offset, bytes);
    lock();
    if (judge(RESIZE, 1) == FAIL) return unlock(-1);
    off_t before = size_of(file);
    int result = syscall(SYS_fallocate, file, mode, offset, bytes);
    // What else fallocate can do (holes, zeroes) is not recorded: nobody here does it.
    if (!result && !mode && offset + bytes > before) record(DID_RESIZE, path, offset + bytes, 0, 0, 0);
    return unlock(result);
}
EXPORT int fallocate64(int file, int mode, off64_t offset, off64_t bytes) { return fallocate(file, mode, offset, bytes); }
EXPORT int posix_fallocate(int file, off_t offset, off_t bytes) { return fallocate(file, 0, offset, bytes) ? errno : 0; }
EXPORT int posix_fallocate64(int file, off64_t offset, off64_t bytes) { return fallocate(file, 0, offset, bytes) ? errno : 0; }

// ---- names ----
// A descriptor of what was renamed, or of what lies below it.
static void rename_descriptor(int file, const char *from, const char *to) {
    size_t length = strlen(from);
    char path[8192];
    if (!paths[file] || strncmp(paths[file], from, length) || (paths[file][length] && paths[file][length] != '/')) return;
    snprintf(path, sizeof path, "%s%s", to, paths[file] + length);
    name_descriptor(file, path);
}
static int rename_file(int old_folder, const char *old_given, int new_folder, const char *new_given, unsigned flags) {
    char old_buffer[4096], new_buffer[4096];
    const char *from = resolve(old_folder, old_given, old_buffer, sizeof old_buffer);
    const char *to = resolve(new_folder, new_given, new_buffer, sizeof new_buffer);
    if (!from || !to) return syscall(SYS_renameat2, old_folder, old_given, new_folder, new_given, flags);
    lock();
    if (judge(RENAME, 0) == FAIL) return unlock(-1);
    int result = syscall(SYS_renameat2, old_folder, old_given, new_folder, new_given, flags);
    if (!result) {
        record(DID_RENAME, from, 0, strlen(to), to, strlen(to));
        for (int file = 0; file < DESCRIPTORS; file++) rename_descriptor(file, from, to);
    }
    return unlock(result);
}
EXPORT int rename(const char *from, const char *to) { return rename_file(AT_FDCWD, from, AT_FDCWD, to, 0); }
EXPORT int renameat(int from_folder, const char *from, int to_folder, const char *to) { return rename_file(from_folder, from, to_folder, to, 0); }
EXPORT int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) { return rename_file(from_folder, from, to_folder, to, flags); }
static int unlink_file(int folder, const char *given, int flags) {
    char buffer[4096];
    const char *path = resolve(folder, given, buffer, sizeof buffer);
    if (!path) return syscall(SYS_unlinkat, folder, given, flags);
    lock();
    if (judge(UNLINK, 0) == FAIL) return unlock(-1);
    int result = syscall(SYS_unlinkat, folder, given, flags);
    if (!result) record(DID_UNLINK, path, 0, 0, 0, 0);
    return unlock(result);
}
EXPORT int unlink(const char *path) { return unlink_file(AT_FDCWD, path, 0); }
EXPORT int rmdir(const char *path) { return unlink_file(AT_FDCWD, path, AT_REMOVEDIR); }
EXPORT int unlinkat(int folder, const char *path, int flags) { return unlink_file(folder, path, flags); }
static int make_folder(int folder, const char *given, mode_t mode) {
    char buffer[4096];
    const char *path = resolve(folder, given, buffer, sizeof buffer);
    if (!path) return syscall(SYS_mkdirat, folder, given, mode);
    lock();
    if (judge(MKDIR, 1) == FAIL) return unlock(-1);
    int result = syscall(SYS_mkdirat, folder, given, mode);
    if (!result) record(DID_MKDIR, path, 0, 0, 0, 0);
    return unlock(result);
}
EXPORT int mkdir(const char *path, mode_t mode) { return make_folder(AT_FDCWD, path, mode); }
EXPORT int mkdirat(int folder, const char *path, mode_t mode) { return make_folder(folder, path, mode); }
