/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between a file server and the kernel: an address has a limited number of connections.
 *
 * smbd and NFS-Ganesha limit only how many connections there are. So one stranger, who need not log in and need not say a word,
 * could have them all. This library is loaded before the C library (LD_PRELOAD), and looks at each connection that is
 * accepted. One too many is closed at once.
 *
 * A connection counts while the server has it open. smbd gives each to a process of its own, which then counts until it ends. Each
 * address of IPv6 counts by itself: clients of one share are often in one network, and none of them may shut out the others.
 *
 * MANILA_LITE_PER_ADDRESS has the limit.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The servers' own limits are lower. */
#define MOST 65536
/* Seconds between two lines in the log. */
#define QUIET 60

/* A connection: the process that has it, or 0 and the open file. */
static struct { pid_t pid; int fd; struct in6_addr from; } held[MOST];
static int used;
/* The one that came last, of which a process may be about to get hold; or -1. */
static int last = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* Write the address that counts. Return 0 for a socket of another kind. */
static int counted(int fd, struct in6_addr *from)
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;

    memset(from, 0, sizeof *from);
    if (getpeername(fd, (struct sockaddr *)&peer, &length))
        return 0;
    if (peer.ss_family == AF_INET) {
        from->s6_addr[10] = from->s6_addr[11] = 0xff;
        memcpy(from->s6_addr + 12, &((struct sockaddr_in *)&peer)->sin_addr, 4);
        return 1;
    }
    if (peer.ss_family == AF_INET6)
        *from = ((struct sockaddr_in6 *)&peer)->sin6_addr;
    return peer.ss_family == AF_INET6;
}

/* Return how many connections the address has. Forget those of them that are closed: their number may be another file now. */
static int held_by(const struct in6_addr *from)
{
    struct in6_addr now;
    int number = 0;

    for (int at = used - 1; at >= 0; at--) {
        if (memcmp(&held[at].from, from, sizeof *from))
            continue;
        if (held[at].pid || (counted(held[at].fd, &now) && !memcmp(&now, from, sizeof now)))
            number++;
        else
            held[at] = held[--used];
    }
    return number;
}

/* Remember the connection, in the place of a closed one with this number. */
static void hold(int fd, const struct in6_addr *from)
{
    for (last = 0; last < used; last++)
        if (!held[last].pid && held[last].fd == fd)
            break;
    if (last == MOST) {
        last = -1;
        return;
    }
    used += last == used;
    held[last].pid = 0;
    held[last].fd = fd;
    held[last].from = *from;
}

static void tell(const struct in6_addr *from, int most)
{
    static time_t told;
    struct timespec now;
    char text[INET6_ADDRSTRLEN];

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (told && now.tv_sec < told + QUIET)
        return;
    told = now.tv_sec;
    fprintf(stderr, "%s has %d connections already: more are closed (see ..._connections_per_address)\n",
            inet_ntop(AF_INET6, from, text, sizeof text) ? text : "?", most);
}

/* Return what the server gets in place of the connection. smbd takes EINTR for nobody, and starts no process. To another server
 * it is a client who went away: NFS-Ganesha would ask again at once, and wait.
 */
static int turn_away(int fd)
{
    if (strcmp(program_invocation_short_name, "smbd")) {
        shutdown(fd, SHUT_RDWR);
        return fd;
    }
    close(fd);
    errno = EINTR;
    return -1;
}

static int limit(void)
{
    const char *text = getenv("MANILA_LITE_PER_ADDRESS");

    return text ? atoi(text) : 0;
}

int accept(int fd, struct sockaddr *address, socklen_t *length)
{
    static int (*next)(int, struct sockaddr *, socklen_t *);
    struct linger at_once = {1, 0};
    struct in6_addr from;
    int most = limit(), got, error;

    if (!next)
        next = dlsym(RTLD_NEXT, "accept");
    got = next(fd, address, length);
    pthread_mutex_lock(&turn);
    last = -1;
    if (got >= 0 && most > 0 && counted(got, &from)) {
        if (held_by(&from) < most) {
            hold(got, &from);
        } else {
            tell(&from, most);
            setsockopt(got, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            got = turn_away(got);
        }
    }
    error = errno;
    pthread_mutex_unlock(&turn);
    errno = error;
    return got;
}

pid_t fork(void)
{
    static pid_t (*next)(void);
    pid_t pid;

    if (!next)
        next = dlsym(RTLD_NEXT, "fork");
    pid = next();
    if (pid > 0) {
        pthread_mutex_lock(&turn);
        if (last >= 0)
            held[last].pid = pid;
        last = -1;
        pthread_mutex_unlock(&turn);
    }
    return pid;
}

pid_t waitpid(pid_t which, int *status, int options)
{
    static pid_t (*next)(pid_t, int *, int);
    int own = 0;
    pid_t pid;

    if (!next)
        next = dlsym(RTLD_NEXT, "waitpid");
    pid = next(which, &own, options);
    if (pid > 0 && status)
        *status = own;
    if (pid > 0 && (WIFEXITED(own) || WIFSIGNALED(own))) {
        pthread_mutex_lock(&turn);
        for (int at = 0; at < used; at++)
            if (held[at].pid == pid)
                held[at--] = held[--used];
        last = -1;
        pthread_mutex_unlock(&turn);
    }
    return pid;
}
