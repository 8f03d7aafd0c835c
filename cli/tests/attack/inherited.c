/* A program that gives up its user and then attacks the table through every descriptor that it has inherited.
   argv[1] is the table's file. Prints one line for each attack that succeeds, then "attacked", then starts a process
   that inherits the same descriptors, prints its number and ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void report(int fd, const char *attack, int succeeded) {
    if (succeeded) {
        printf("%s succeeds on descriptor %d\n", attack, fd);
    }
}

int main(int argc, char **argv) {
    struct stat table, other;
    if (argc != 2 || stat(argv[1], &table) != 0) {
        return 2;
    }
    if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) {
        return 3;
    }
    /* Else /proc/self/fd would be closed to it, which a program can change for itself by executing another. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    for (int fd = 0; fd < 1024; fd++) {
        if (fstat(fd, &other) != 0 || other.st_dev != table.st_dev || other.st_ino != table.st_ino) {
            continue;
        }
        char again[32];
        snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
        report(fd, "access mode for writing", (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY);
        report(fd, "write", write(fd, "", 1) >= 0);
        report(fd, "pwrite", pwrite(fd, "", 1, table.st_size) >= 0);
        report(fd, "mapping for writing",
               mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
        report(fd, "write lock of all", fcntl(fd, F_OFD_SETLK, &lock) == 0);
        lock.l_start = (1LL << 41);
        lock.l_len = 1;
        report(fd, "write lock of a free byte", fcntl(fd, F_OFD_SETLK, &lock) == 0);
        report(fd, "opening again", open(again, O_RDWR) >= 0);
        report(fd, "chmod", fchmod(fd, 0666) == 0);
        report(fd, "ftruncate", ftruncate(fd, table.st_size) == 0);
    }
    puts("attacked");
    fflush(stdout);
    pid_t below = fork();
    if (below == 0) {
        close(STDOUT_FILENO);
        pause();
        _exit(0);
    }
    printf("%d\n", below);
    fflush(stdout);
    return below < 0;
}
