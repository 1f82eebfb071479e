/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between NFS-Ganesha's part for local file systems and the kernel: a file handle opens nothing but what is in
 * the subvolume that is exported by it.
 *
 * A handle of btrfs names a subvolume, an inode and a generation; clients have it and can make others of it. The kernel opens
 * whatever it names in the whole file system, and NFS-Ganesha 4.3 does not look at what came. So each call is looked at here.
 *
 * This library has the name of the one that it stands before (libfsalvfs.so), and needs it. NFS-Ganesha binds plug-ins deeply:
 * calls of the real one are looked up here before the C library, and nobody else's are touched. See handle_guard.py, which builds
 * it together with share_size.c.
 *
 * MANILA_LITE_GUARDED names the folder of the NFS server. Exports are mounted in its "exports"; the file "guarded" in it shows
 * that calls do come by here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btrfs_tree.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static int refuse(int fd, int error)
{
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

static const char *home(void)
{
    const char *found = getenv("MANILA_LITE_GUARDED");
    return found && *found == '/' ? found : NULL;
}

/* The root of an export is mounted right below "exports". Others that NFS-Ganesha knows, such as "/", are nobody's. */
static int is_export(const char *path)
{
    const char *own = home();
    size_t length = own ? strlen(own) : 0;

    if (!own || strncmp(path, own, length) || strncmp(path + length, "/exports/", 9))
        return 0;
    path += length + 9;
    return *path && !strchr(path, '/');
}

static int is_export_fd(int fd)
{
    char link[32], path[PATH_MAX + 1];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, PATH_MAX);
    if (length < 0)
        return 0;
    path[length] = 0;
    return is_export(path);
}

/* Whether the export is all of a subvolume: handles of what is in a plain directory do not end there. */
static int is_whole(int fd, const struct stat *root)
{
    struct statfs type;

    return !fstatfs(fd, &type) && type.f_type == BTRFS_SUPER_MAGIC && root->st_ino == BTRFS_FIRST_FREE_OBJECTID;
}

/* Whether the kernel would name the file by just these bytes. It takes others too, such as any with generation 0. */
static int is_true_handle(int fd, const struct file_handle *handle)
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } known;
    int mount;

    known.handle.handle_bytes = MAX_HANDLE_SZ;
    if (syscall(SYS_name_to_handle_at, fd, "", &known.handle, &mount, AT_EMPTY_PATH))
        return 0;
    return known.handle.handle_type == handle->handle_type && known.handle.handle_bytes == handle->handle_bytes &&
           !memcmp(known.handle.f_handle, handle->f_handle, handle->handle_bytes);
}

int open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
    struct stat export, file;
    int fd;

    if (!is_export_fd(mount_fd))
        return refuse(-1, ESTALE);
    /* Opened for nothing yet: not to be read, written or emptied. */
    fd = syscall(SYS_open_by_handle_at, mount_fd, handle, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(mount_fd, &export) || !is_whole(mount_fd, &export) || fstat(fd, &file) || export.st_dev != file.st_dev ||
        !is_true_handle(fd, handle))
        return refuse(fd, ESTALE);
    if ((flags & O_PATH) && !(flags & O_DIRECTORY))
        return fd;
    close(fd);
    return syscall(SYS_open_by_handle_at, mount_fd, handle, flags);
}

/* ".." of an export's root is in the server's own folder. NFS-Ganesha asks for it if it does not know the root as such. */
static int leaves(int directory, const char *path)
{
    struct stat here, above;

    if (!path || strcmp(path, ".."))
        return 0;
    return fstat(directory, &here) || syscall(SYS_newfstatat, directory, "..", &above, 0) || here.st_dev != above.st_dev;
}

int fstatat64(int directory, const char *restrict path, struct stat64 *restrict found, int flags)
{
    if (leaves(directory, path))
        return refuse(-1, EXDEV);
    return fstatat(directory, path, (struct stat *)found, flags);
}

int openat64(int directory, const char *path, int flags, ...)
{
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (leaves(directory, path))
        return refuse(-1, EXDEV);
    return openat(directory, path, flags, mode);
}

/* What compilers make of openat64 without a mode. */
int __openat64_2(int directory, const char *path, int flags)
{
    return openat64(directory, path, flags);
}

/* An export begins with this call, so the file is there before the first client is. */
static void say_so(void)
{
    static int said;
    char path[PATH_MAX];
    int fd;

    if (said || !home())
        return;
    snprintf(path, sizeof path, "%s/guarded", home());
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
        said = 1;
    }
}

int name_to_handle_at(int directory, const char *path, struct file_handle *handle, int *mount, int flags)
{
    say_so();
    if (leaves(directory, path))
        return refuse(-1, EXDEV);
    return syscall(SYS_name_to_handle_at, directory, path, handle, mount, flags);
}
