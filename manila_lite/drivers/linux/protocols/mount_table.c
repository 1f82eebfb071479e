/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between NFS-Ganesha and the table of mounts: for an export that is a mount itself, the table has this one, and the
 * root.
 *
 * NFS-Ganesha 4.3 reads the whole table for each export, to find the file system of its path. With a thousand exports, each of
 * which is a mount, that is a million lines: six seconds of a processor. It takes no notice of mounts beside the path. Those above
 * it make a difference to exports with other file systems inside; there are none. It does look for a parent of each file
 * system that has none yet, in the list of all: so the root is in the table.
 *
 * This library is loaded before the C library (LD_PRELOAD). If NFS-Ganesha does not come by here, or if the path is anything else
 * than the root of a mount of btrfs, it reads the table as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* The path of the export for which this thread looks at the table, or NULL. */
static __thread const char *wanted;

static int is_mount_of_btrfs(const char *path)
{
    struct statx about;
    struct statfs type;

    return !statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &about)
        && about.stx_attributes & STATX_ATTR_MOUNT_ROOT
        && !statfs(path, &type) && type.f_type == BTRFS_SUPER_MAGIC;
}

/* Return a table with two lines; NULL if there is no memory for it. */
static FILE *table_of(const char *path)
{
    struct mntent root = {"root", "/", "root", "rw", 0, 0}, line = {"pool", (char *)path, "btrfs", "rw", 0, 0};
    FILE *table = fmemopen(NULL, 4 * strlen(path) + 128, "w+");

    if (table && !addmntent(table, &root) && !addmntent(table, &line)) {
        rewind(table);
        return table;
    }
    if (table)
        fclose(table);
    return NULL;
}

int populate_posix_file_systems(const char *path)
{
    static int (*next)(const char *);
    int result;

    if (!next)
        next = dlsym(RTLD_NEXT, "populate_posix_file_systems");
    wanted = path;
    result = next(path);
    wanted = NULL;
    return result;
}

FILE *setmntent(const char *file, const char *mode)
{
    static FILE *(*next)(const char *, const char *);
    FILE *table = wanted && !strcmp(file, MOUNTED) && is_mount_of_btrfs(wanted) ? table_of(wanted) : NULL;

    if (!next)
        next = dlsym(RTLD_NEXT, "setmntent");
    return table ? table : next(file, mode);
}
