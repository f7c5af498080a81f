#ifndef TASKYARD_LIMIT_H
#define TASKYARD_LIMIT_H

#include <stdint.h>

// The statements of package db, word for word.
typedef struct {
	const char *claim, *tail, *event, *insert, *hour, *count;
} limit_sql;

typedef struct limit limit;

// recording: the text of every statement that connections opened from now on
// run, each text once.
void record_start(const char *path);
void record_stop(void);
int record_count(void);
const char *record_text(int i);

// limit_open prepares the statements on the file at path. NULL on failure;
// limit_error(NULL) tells why.
limit *limit_open(const char *path, limit_sql sql);
const char *limit_error(limit *l);
void limit_close(limit *l);

// limit_run does up to max claims (create = 0) or creates (create = 1),
// per_tx in each transaction, for at most seconds. It returns how many were
// done, fewer when the queues are empty, or -1; *elapsed is in seconds.
int64_t limit_run(limit *l, int create, int per_tx, int64_t max, double seconds, double *elapsed);

// limit_rest gives all claimed tasks back and empties the write-ahead log, so
// that each lap begins alike. 0, or -1.
int limit_rest(limit *l);

#endif
