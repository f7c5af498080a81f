// Recorder for simulated power cuts, loaded by LD_PRELOAD into a server: it
// appends each write, truncation, sync and removal that SQLite makes to the
// database, its log and its journal to the file that RECORD_TO names.
// A record is: kind, file, two zero bytes, length (4 bytes), offset (8 bytes),
// and for writes the data; in the byte order of the machine.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FD 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int to = -1;
static unsigned char file_of[MAX_FD]; // 0: none of ours

__attribute__((constructor)) static void begin(void) {
	const char *path = getenv("RECORD_TO");
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
	if (path) to = real(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static unsigned char kind_of(const char *path) {
	static const char *ends[] = {"/taskyard.db", "/taskyard.db-wal", "/taskyard.db-journal"};
	size_t n = strlen(path);
	for (int i = 0; i < 3; i++) {
		size_t m = strlen(ends[i]);
		if (n >= m && !strcmp(path + n - m, ends[i])) return i + 1;
	}
	return 0;
}

static unsigned char ours(int fd) { return to >= 0 && fd >= 0 && fd < MAX_FD ? file_of[fd] : 0; }

static void record(char kind, unsigned char file, uint64_t at, const void *data, uint32_t n) {
	char head[16] = {kind, file};
	memcpy(head + 4, &n, 4);
	memcpy(head + 8, &at, 8);
	struct iovec v[2] = {{head, 16}, {(void *)data, n}};
	if (writev(to, v, data ? 2 : 1) < 0) abort();
}

int open64(const char *path, int flags, ...) {
	static int (*real)(const char *, int, ...);
	if (!real) real = dlsym(RTLD_NEXT, "open64");
	va_list args;
	va_start(args, flags);
	int mode = va_arg(args, int);
	va_end(args);
	int fd = real(path, flags, mode);
	if (fd >= 0 && fd < MAX_FD) file_of[fd] = kind_of(path);
	return fd;
}

int close(int fd) {
	static int (*real)(int);
	if (!real) real = dlsym(RTLD_NEXT, "close");
	if (fd >= 0 && fd < MAX_FD) file_of[fd] = 0;
	return real(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) {
	static ssize_t (*real)(int, const void *, size_t, off64_t);
	if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
	unsigned char file = ours(fd);
	if (!file) return real(fd, data, n, at);
	pthread_mutex_lock(&lock);
	ssize_t done = real(fd, data, n, at);
	if (done > 0) record('W', file, at, data, done);
	pthread_mutex_unlock(&lock);
	return done;
}

int ftruncate64(int fd, off64_t size) {
	static int (*real)(int, off64_t);
	if (!real) real = dlsym(RTLD_NEXT, "ftruncate64");
	unsigned char file = ours(fd);
	if (!file) return real(fd, size);
	pthread_mutex_lock(&lock);
	int failed = real(fd, size);
	if (!failed) record('T', file, size, 0, 0);
	pthread_mutex_unlock(&lock);
	return failed;
}

// What was written before a sync began is on the disk once it has ended.
int fsync(int fd) {
	static int (*real)(int);
	if (!real) real = dlsym(RTLD_NEXT, "fsync");
	unsigned char file = ours(fd);
	if (!file) return real(fd);
	pthread_mutex_lock(&lock);
	int failed = real(fd);
	if (!failed) record('S', file, 0, 0, 0);
	pthread_mutex_unlock(&lock);
	return failed;
}

int unlink(const char *path) {
	static int (*real)(const char *);
	if (!real) real = dlsym(RTLD_NEXT, "unlink");
	unsigned char file = to >= 0 ? kind_of(path) : 0;
	if (!file) return real(path);
	pthread_mutex_lock(&lock);
	int failed = real(path);
	if (!failed) record('U', file, 0, 0, 0);
	pthread_mutex_unlock(&lock);
	return failed;
}
