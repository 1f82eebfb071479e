/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between NFS-Ganesha's part for CephFS and Ceph: when the server starts, many exports are mounted at once.
 *
 * NFS-Ganesha 4.3 mounts one export after the other. Each is a client of the cluster of its own, and waits for it several times:
 * for the monitor, for the metadata server, and for the journal of that. Here threads mount all exports of a list beforehand, just
 * as NFS-Ganesha would. When it makes a client for one of them, it gets the one that is mounted, and its further steps up to
 * the mount have been taken. What is not in the list, or could not be mounted, goes its usual way.
 *
 * This library has the name of the one that it stands before (libfsalceph.so), and needs it: see handle_guard.c of the driver linux.
 *
 * MANILA_LITE_EXPORTS names the file with the list, which is deleted when it has been read: it has keys. Its first line is the
 * file system; each further one has the user, the key, the path and the name of the session, separated by tabs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* So many exports are mounted at a time. */
#define THREADS 16
/* Of FSAL_CEPH: seconds for which the cluster keeps the state of a server that is away, and what becomes of that of the former. */
#define SESSION_SECONDS 300
#define RECLAIM_RESET 1

struct ceph_mount_info;

enum state { WAITS, READY, GONE };

/* An export of the list. */
struct export {
    char *user, *key, *path, *session;
    struct ceph_mount_info *mount;
    enum state state;
};

static struct export *exports;
static size_t count, next;
static char *filesystem;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* The export whose mount this thread got, until it mounts it. */
static __thread const struct export *given;

/* The functions of libcephfs that are called here. */
static int (*real_create)(struct ceph_mount_info **, const char *);
static int (*real_conf_read_file)(struct ceph_mount_info *, const char *);
static int (*real_conf_set)(struct ceph_mount_info *, const char *, const char *);
static int (*real_init)(struct ceph_mount_info *);
static int (*real_select_filesystem)(struct ceph_mount_info *, const char *);
static void (*real_set_session_timeout)(struct ceph_mount_info *, unsigned);
static int (*real_start_reclaim)(struct ceph_mount_info *, const char *, unsigned);
static void (*real_finish_reclaim)(struct ceph_mount_info *);
static void (*real_set_uuid)(struct ceph_mount_info *, const char *);
static int (*real_mount)(struct ceph_mount_info *, const char *);
static int (*real_release)(struct ceph_mount_info *);

static const struct { const char *name; void **place; } reals[] = {
    {"ceph_create", (void **)&real_create},
    {"ceph_conf_read_file", (void **)&real_conf_read_file},
    {"ceph_conf_set", (void **)&real_conf_set},
    {"ceph_init", (void **)&real_init},
    {"ceph_select_filesystem", (void **)&real_select_filesystem},
    {"ceph_set_session_timeout", (void **)&real_set_session_timeout},
    {"ceph_start_reclaim", (void **)&real_start_reclaim},
    {"ceph_finish_reclaim", (void **)&real_finish_reclaim},
    {"ceph_set_uuid", (void **)&real_set_uuid},
    {"ceph_mount", (void **)&real_mount},
    {"ceph_release", (void **)&real_release},
};

/* Do what FSAL_CEPH does for an export, in its order. Return the client, or NULL if a step failed. */
static struct ceph_mount_info *mounted(const struct export *one)
{
    struct ceph_mount_info *mount;

    if (real_create(&mount, one->user))
        return NULL;
    if (real_conf_read_file(mount, getenv("CEPH_CONF")) || real_conf_set(mount, "key", one->key)
        || real_conf_set(mount, "client_mountpoint", one->path) || real_init(mount)
        || real_select_filesystem(mount, filesystem)) {
        real_release(mount);
        return NULL;
    }
    real_set_session_timeout(mount, SESSION_SECONDS);
    real_start_reclaim(mount, one->session, RECLAIM_RESET);
    real_finish_reclaim(mount);
    real_set_uuid(mount, one->session);
    if (!real_mount(mount, one->path))
        return mount;
    real_release(mount);
    return NULL;
}

static void *work(void *unused)
{
    struct export *one;
    struct ceph_mount_info *mount;

    pthread_mutex_lock(&turn);
    while (next < count) {
        one = &exports[next++];
        pthread_mutex_unlock(&turn);
        mount = mounted(one);
        pthread_mutex_lock(&turn);
        one->mount = mount;
        one->state = mount ? READY : GONE;
        pthread_cond_broadcast(&change);
    }
    pthread_mutex_unlock(&turn);
    return unused;
}

/* Return the next word of the line, which is split there; NULL at its end. */
static char *word(char **line)
{
    char *found = strsep(line, "\t");

    return found && *found ? strdup(found) : NULL;
}

static void read_list(const char *name)
{
    FILE *list = fopen(name, "re");
    char *line = NULL, *rest;
    size_t size = 0, room = 0;
    ssize_t length;
    struct export one = {0}, *more;

    if (!list)
        return;
    unlink(name);
    while ((length = getline(&line, &size, list)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = 0;
        rest = line;
        if (!filesystem) {
            filesystem = word(&rest);
            continue;
        }
        one.user = word(&rest);
        one.key = word(&rest);
        one.path = word(&rest);
        one.session = word(&rest);
        if (!one.session || rest)
            break;
        if (count == room) {
            room = room ? 2 * room : 64;
            if (!(more = realloc(exports, room * sizeof *exports)))
                break;
            exports = more;
        }
        exports[count++] = one;
    }
    free(line);
    fclose(list);
}

static void begin(void)
{
    void *cephfs = dlopen("libcephfs.so.2", RTLD_NOW | RTLD_NOLOAD);
    const char *name = getenv("MANILA_LITE_EXPORTS");
    pthread_t thread;
    int threads = 0;

    for (size_t at = 0; at < sizeof reals / sizeof *reals; at++)
        if (!cephfs || !(*reals[at].place = dlsym(cephfs, reals[at].name))) {
            fprintf(stderr, "libcephfs.so.2 has no %s\n", reals[at].name);
            abort();
        }
    if (name && getenv("CEPH_CONF"))
        read_list(name);
    while (threads < THREADS && !pthread_create(&thread, NULL, work, NULL)) {
        pthread_detach(thread);
        threads++;
    }
    if (!threads)
        count = 0;
}

/* Wait until the export of the user is mounted. Return it, or NULL if it is not. */
static const struct export *taken(const char *user)
{
    struct export *found = NULL;

    pthread_mutex_lock(&turn);
    for (size_t at = 0; at < count; at++)
        if (exports[at].state != GONE && !strcmp(exports[at].user, user))
            found = &exports[at];
    while (found && found->state == WAITS)
        pthread_cond_wait(&change, &turn);
    if (found && found->state == GONE)
        found = NULL;
    if (found)
        found->state = GONE;
    pthread_mutex_unlock(&turn);
    return found;
}

static int is_given(const struct ceph_mount_info *mount)
{
    return given && given->mount == mount;
}

int ceph_create(struct ceph_mount_info **mount, const char *user)
{
    pthread_once(&once, begin);
    given = user ? taken(user) : NULL;
    if (!given)
        return real_create(mount, user);
    *mount = given->mount;
    return 0;
}

int ceph_conf_read_file(struct ceph_mount_info *mount, const char *name)
{
    return is_given(mount) ? 0 : real_conf_read_file(mount, name);
}

int ceph_conf_set(struct ceph_mount_info *mount, const char *option, const char *value)
{
    const char *had;

    if (!is_given(mount))
        return real_conf_set(mount, option, value);
    had = strcmp(option, "key") ? strcmp(option, "client_mountpoint") ? NULL : given->path : given->key;
    return had && !strcmp(had, value) ? 0 : -EINVAL;
}

int ceph_init(struct ceph_mount_info *mount)
{
    return is_given(mount) ? 0 : real_init(mount);
}

int ceph_select_filesystem(struct ceph_mount_info *mount, const char *name)
{
    if (!is_given(mount))
        return real_select_filesystem(mount, name);
    return strcmp(name, filesystem) ? -EINVAL : 0;
}

void ceph_set_session_timeout(struct ceph_mount_info *mount, unsigned seconds)
{
    if (!is_given(mount))
        real_set_session_timeout(mount, seconds);
}

int ceph_start_reclaim(struct ceph_mount_info *mount, const char *session, unsigned flags)
{
    return is_given(mount) ? 0 : real_start_reclaim(mount, session, flags);
}

void ceph_finish_reclaim(struct ceph_mount_info *mount)
{
    if (!is_given(mount))
        real_finish_reclaim(mount);
}

void ceph_set_uuid(struct ceph_mount_info *mount, const char *session)
{
    if (!is_given(mount))
        real_set_uuid(mount, session);
}

int ceph_mount(struct ceph_mount_info *mount, const char *path)
{
    if (!is_given(mount))
        return real_mount(mount, path);
    given = NULL;
    return 0;
}
