/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between a file server and the kernel's figures of a file system: clients see the size of the share that they mount,
 * and what is left of it, not those of the pool that it is in.
 *
 * A share is a subvolume of btrfs with a limit. The kernel says of each file in it how large the whole file system is; how much the
 * subvolume holds, and its limit, are in files of sysfs.
 *
 * smbd loads this library before the C library (LD_PRELOAD). NFS-Ganesha binds its plug-ins deeply, so there it is a part of the
 * guard of file handles.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

static unsigned long long counter(const char *folder, const char *name)
{
    char path[PATH_MAX], text[32] = "";
    ssize_t length = -1;
    int fd;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, text, sizeof text - 1);
        close(fd);
    }
    return length > 0 ? strtoull(text, NULL, 10) : 0;
}

/* Where the kernel counts what the subvolume holds. Return 0 if this is not the root of one. */
static int counters(int fd, char *folder, size_t room)
{
    struct btrfs_ioctl_ino_lookup_args tree = {.objectid = BTRFS_FIRST_FREE_OBJECTID};
    struct btrfs_ioctl_fs_info_args info = {0};
    const unsigned char *id = info.fsid;
    struct statfs type;
    struct stat root;

    if (fstatfs(fd, &type) || type.f_type != BTRFS_SUPER_MAGIC || fstat(fd, &root) ||
        root.st_ino != BTRFS_FIRST_FREE_OBJECTID || ioctl(fd, BTRFS_IOC_FS_INFO, &info) ||
        ioctl(fd, BTRFS_IOC_INO_LOOKUP, &tree))
        return 0;
    snprintf(folder, room, "/sys/fs/btrfs/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x/qgroups/0_%llu",
             id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14],
             id[15], (unsigned long long)tree.treeid);
    return 1;
}

static void shrink_to(struct statvfs *found, unsigned long long size, unsigned long long used)
{
    unsigned long long blocks = size / found->f_frsize, left = size > used ? (size - used) / found->f_frsize : 0;

    if (blocks < found->f_blocks)
        found->f_blocks = blocks;
    if (left < found->f_bfree)
        found->f_bfree = left;
    if (left < found->f_bavail)
        found->f_bavail = left;
}

/* The path from the root is that of an export, in the server's own configuration. Any other is below a share, and comes from a
 * client: it is not looked up here. smbd is in the root of the share then.
 */
static void show_share(const char *path, struct statvfs *found)
{
    int fd = open(*path == '/' ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char folder[160];

    if (fd < 0)
        return;
    if (found->f_frsize && counters(fd, folder, sizeof folder) && counter(folder, "limit_flags") & BTRFS_QGROUP_LIMIT_MAX_RFER)
        shrink_to(found, counter(folder, "max_referenced"), counter(folder, "referenced"));
    close(fd);
}

static int of_share(const char *path, struct statvfs *found)
{
    static int (*next)(const char *, struct statvfs *);
    int error = errno;

    if (!next)
        next = dlsym(RTLD_NEXT, "statvfs");
    if (next(path, found))
        return -1;
    show_share(path, found);
    errno = error;
    return 0;
}

int statvfs(const char *restrict path, struct statvfs *restrict found)
{
    return of_share(path, found);
}

/* The same call on machines with 64 bits; NFS-Ganesha was compiled with this name, and Samba with the other. */
int statvfs64(const char *restrict path, struct statvfs64 *restrict found)
{
    return of_share(path, (struct statvfs *)found);
}
