/* Loaded before the C library. The time of day jumps by JUMP_S seconds: ahead once the file `ahead`
 * is in the folder $MD_CLOCK, back once `back` is. The monotonic clock does not jump, just as it does
 * not when the clock of a machine is set. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define JUMP_S (10L * 365 * 24 * 3600)

static int is_there(const char *folder, const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    const char *folder = getenv("MD_CLOCK");
    long result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && folder && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += is_there(folder, "back") ? -JUMP_S : is_there(folder, "ahead") ? JUMP_S : 0;
    return (int)result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now)
        *now = time.tv_sec;
    return time.tv_sec;
}
