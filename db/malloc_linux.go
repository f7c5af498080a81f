//go:build cgo

package db

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
// Without this, glibc raises its threshold for mmap after the first large text
// that SQLite frees, and keeps what later ones leave, in each of its arenas.
static void taskyard_bound_malloc(void) {
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_ARENA_MAX, 2);
}
#else
static void taskyard_bound_malloc(void) {}
#endif
*/
import "C"

// Large texts that SQLite no longer needs go back to the system at once: 100
// MiB of them stayed after 50 readers of tasks of 1 MB.
func init() { C.taskyard_bound_malloc() }
