/* Loaded with LD_PRELOAD: a folder whose files cannot be locked, and a clock that jumps. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Whether the open file lies below $FAULT_NO_LOCKS. */
static int is_without_locks(int descriptor) {
    const char *folder = getenv("FAULT_NO_LOCKS");
    char link[64], path[4096];
    if (!folder || !*folder) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int is_lock(int command) {
    return command == F_SETLK || command == F_SETLKW || command == F_GETLK || command == F_OFD_SETLK
        || command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

int flock(int descriptor, int operation) {
    static int (*real)(int, int);
    if (!real) real = dlsym(RTLD_NEXT, "flock");
    if (is_without_locks(descriptor)) { errno = ENOLCK; return -1; }
    return real(descriptor, operation);
}

#define FCNTL(name) \
    int name(int descriptor, int command, ...) { \
        static int (*real)(int, int, ...); \
        va_list more; \
        va_start(more, command); \
        void *argument = va_arg(more, void *); \
        va_end(more); \
        if (!real) real = dlsym(RTLD_NEXT, #name); \
        if (is_lock(command) && is_without_locks(descriptor)) { errno = ENOLCK; return -1; } \
        return real(descriptor, command, argument); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* Every ten seconds a day forwards, and back again. */
static time_t jump(void) {
    struct timespec now;
    static int (*real)(clockid_t, struct timespec *);
    if (!getenv("FAULT_CLOCK")) return 0;
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    real(CLOCK_MONOTONIC, &now);
    return now.tv_sec / 10 % 2 ? 86400 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *result) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, result);
    if (!code && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) result->tv_sec += jump();
    return code;
}

int gettimeofday(struct timeval *result, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int code = real(result, zone);
    if (!code) result->tv_sec += jump();
    return code;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
