// The limit program: the statements of one claim and one create, in a loop,
// through the C interface of the very SQLite that the driver brings. What the
// server adds to SQLite is the distance between its figures and these.
#include <pthread.h>
#include "limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The driver's header is not on the include path, its symbols are in the
// binary: these are the prototypes needed.
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
extern int sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
extern int sqlite3_close(sqlite3 *);
extern int sqlite3_exec(sqlite3 *, const char *, void *, void *, char **);
extern const char *sqlite3_errmsg(sqlite3 *);
extern int sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
extern int sqlite3_finalize(sqlite3_stmt *);
extern int sqlite3_step(sqlite3_stmt *);
extern int sqlite3_reset(sqlite3_stmt *);
extern int sqlite3_bind_parameter_count(sqlite3_stmt *);
extern int sqlite3_bind_text(sqlite3_stmt *, int, const char *, int, void (*)(void *));
extern int sqlite3_bind_blob(sqlite3_stmt *, int, const void *, int, void (*)(void *));
extern int sqlite3_bind_int64(sqlite3_stmt *, int, int64_t);
extern int sqlite3_bind_null(sqlite3_stmt *, int);
extern int sqlite3_column_count(sqlite3_stmt *);
extern const unsigned char *sqlite3_column_text(sqlite3_stmt *, int);
extern int64_t sqlite3_column_int64(sqlite3_stmt *, int);
extern int64_t sqlite3_last_insert_rowid(sqlite3 *);
extern int sqlite3_auto_extension(void (*)(void));
extern int sqlite3_cancel_auto_extension(void (*)(void));
extern int sqlite3_trace_v2(sqlite3 *, unsigned, int (*)(unsigned, void *, void *, void *), void *);
extern const char *sqlite3_sql(sqlite3_stmt *);
extern const char *sqlite3_db_filename(sqlite3 *, const char *);

enum { OK = 0, ROW = 100, DONE = 101, READWRITE = 2, NOMUTEX = 0x8000, TRACE_STMT = 1 };
#define TRANSIENT ((void (*)(void *))(intptr_t)-1)
enum { OWNERS = 16, LEASE_MS = 7200000, HOUR_MS = 3600000 };

// ---- recording

enum { MAX_TEXTS = 64 };
static char *texts[MAX_TEXTS];
static int text_count;
static const char *recorded; // path of the database
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;

static int on_statement(unsigned what, void *ctx, void *stmt, void *unused) {
	(void)what, (void)ctx, (void)unused;
	const char *sql = sqlite3_sql(stmt);
	if (!sql) return 0;
	pthread_mutex_lock(&recording); // connections are opened by several threads
	int i = 0;
	while (i < text_count && strcmp(texts[i], sql) != 0) i++;
	if (i == text_count && text_count < MAX_TEXTS) texts[text_count++] = strdup(sql);
	pthread_mutex_unlock(&recording);
	return 0;
}

static int on_open(sqlite3 *db, char **err, const void *api) {
	(void)err, (void)api;
	const char *path = sqlite3_db_filename(db, "main");
	if (!path || strcmp(path, recorded) != 0) return OK;
	return sqlite3_trace_v2(db, TRACE_STMT, on_statement, NULL);
}

void record_start(const char *path) {
	recorded = path;
	for (int i = 0; i < text_count; i++) free(texts[i]);
	text_count = 0;
	sqlite3_auto_extension((void (*)(void))on_open);
}
void record_stop(void) { sqlite3_cancel_auto_extension((void (*)(void))on_open); }
int record_count(void) { return text_count; }
const char *record_text(int i) { return texts[i]; }

// ---- running

struct limit {
	sqlite3 *db;
	sqlite3_stmt *claim, *tail, *event, *insert, *hour, *count, *begin, *commit;
	int64_t turn;        // which owner is next
	int created[OWNERS]; // in this transaction
	char hash[32];
	char description[201];
};

static char open_error[512];

const char *limit_error(limit *l) { return l ? sqlite3_errmsg(l->db) : open_error; }

void limit_close(limit *l) {
	sqlite3_stmt *all[] = {l->claim, l->tail, l->event, l->insert, l->hour, l->count, l->begin, l->commit};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) sqlite3_finalize(all[i]);
	sqlite3_close(l->db);
	free(l);
}

// prepare refuses a statement that takes other values than are bound here.
static int prepare(limit *l, const char *name, const char *sql, int values, sqlite3_stmt **out) {
	if (sqlite3_prepare_v2(l->db, sql, -1, out, NULL) != OK) {
		snprintf(open_error, sizeof open_error, "%s: %s", name, sqlite3_errmsg(l->db));
		return 0;
	}
	int n = sqlite3_bind_parameter_count(*out);
	if (n == values) return 1;
	snprintf(open_error, sizeof open_error, "the statement of package db for %s takes %d values, bench/limit.c binds %d: bring them in step", name, n, values);
	return 0;
}

limit *limit_open(const char *path, limit_sql sql) {
	limit *l = calloc(1, sizeof *l);
	memset(l->description, 'x', sizeof l->description - 1);
	int ok = sqlite3_open_v2(path, &l->db, READWRITE | NOMUTEX, NULL) == OK &&
		sqlite3_exec(l->db,
			"PRAGMA busy_timeout=5000; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=on;"
			"PRAGMA recursive_triggers=on; PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY",
			NULL, NULL, NULL) == OK;
	if (!ok) snprintf(open_error, sizeof open_error, "open %s: %s", path, sqlite3_errmsg(l->db));
	ok = ok && prepare(l, "a claim", sql.claim, 3, &l->claim) &&
		prepare(l, "the end of the log", sql.tail, 0, &l->tail) && prepare(l, "an event", sql.event, 11, &l->event) &&
		prepare(l, "a new task", sql.insert, 14, &l->insert) && prepare(l, "the creates of an hour", sql.hour, 5, &l->hour) &&
		prepare(l, "the tasks of an owner", sql.count, 3, &l->count) &&
		prepare(l, "begin", "BEGIN IMMEDIATE", 0, &l->begin) &&
		prepare(l, "commit", "COMMIT", 0, &l->commit);
	if (ok) return l;
	limit_close(l);
	return NULL;
}

static int64_t now_ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static double seconds_now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void bind_text(sqlite3_stmt *s, int i, const char *text) { sqlite3_bind_text(s, i, text, -1, TRANSIENT); }

// drain steps a statement to its end, reading every column of every row as
// the driver must, and returns whether it ended well. *id is the first column.
static int drain(sqlite3_stmt *s, int64_t *id) {
	int rc;
	while ((rc = sqlite3_step(s)) == ROW) {
		if (id) *id = sqlite3_column_int64(s, 0);
		for (int i = sqlite3_column_count(s) - 1; i > 0; i--) sqlite3_column_text(s, i);
	}
	sqlite3_reset(s);
	return rc == DONE;
}

static int add_event(limit *l, const char *kind, const char *actor, int64_t id, int64_t now) {
	sqlite3_stmt *s = l->event;
	sqlite3_bind_int64(s, 1, now);
	bind_text(s, 2, actor);
	bind_text(s, 3, kind);
	sqlite3_bind_int64(s, 4, id);
	sqlite3_bind_null(s, 5);
	bind_text(s, 6, "");
	bind_text(s, 7, "");
	memcpy(l->hash, &id, sizeof id);
	sqlite3_bind_null(s, 8);
	bind_text(s, 9, "");
	bind_text(s, 10, "");
	sqlite3_bind_blob(s, 11, l->hash, sizeof l->hash, TRANSIENT);
	return drain(s, NULL);
}

// claim_one returns 1, 0 when the queue is empty, -1 on failure.
static int claim_one(limit *l, const char *owner, int64_t now) {
	int64_t id = 0;
	bind_text(l->claim, 1, owner);
	sqlite3_bind_int64(l->claim, 2, now);
	sqlite3_bind_int64(l->claim, 3, now + LEASE_MS);
	if (!drain(l->claim, &id)) return -1;
	if (id == 0) return 0;
	return add_event(l, "task.claimed", owner, id, now) ? 1 : -1;
}

static int create_one(limit *l, const char *owner, int64_t now) {
	sqlite3_stmt *s = l->insert;
	bind_text(s, 1, "a task of the bench");
	bind_text(s, 2, l->description);
	bind_text(s, 3, owner);
	bind_text(s, 4, owner);
	bind_text(s, 5, "active");
	sqlite3_bind_int64(s, 6, 0);
	bind_text(s, 7, "web");
	sqlite3_bind_null(s, 8);
	sqlite3_bind_int64(s, 9, 0);
	bind_text(s, 10, "");
	bind_text(s, 11, "");
	bind_text(s, 12, "");
	sqlite3_bind_int64(s, 13, now);
	sqlite3_bind_int64(s, 14, now);
	if (!drain(s, NULL)) return -1;
	return add_event(l, "task.created", owner, sqlite3_last_insert_rowid(l->db), now) ? 1 : -1;
}

static void owner_name(char *out, size_t size, int64_t i) { snprintf(out, size, "bench-%d", (int)i); }

// count_created counts what the transaction created, once for each owner.
static int count_created(limit *l, int64_t now) {
	for (int i = 0; i < OWNERS; i++) {
		if (l->created[i] == 0) continue;
		char owner[32];
		owner_name(owner, sizeof owner, i);
		sqlite3_bind_int64(l->hour, 1, now - now % HOUR_MS);
		bind_text(l->hour, 2, owner);
		bind_text(l->hour, 3, "created");
		bind_text(l->hour, 4, "");
		sqlite3_bind_int64(l->hour, 5, l->created[i]);
		bind_text(l->count, 1, owner);
		bind_text(l->count, 2, "active");
		sqlite3_bind_int64(l->count, 3, l->created[i]);
		if (!drain(l->hour, NULL) || !drain(l->count, NULL)) return 0;
		l->created[i] = 0;
	}
	return 1;
}

int64_t limit_run(limit *l, int create, int per_tx, int64_t max, double seconds, double *elapsed) {
	double start = seconds_now();
	int64_t done = 0;
	int rc = 1;
	while (rc == 1 && done < max && (*elapsed = seconds_now() - start) < seconds) {
		if (!drain(l->begin, NULL) || !drain(l->tail, NULL)) return -1;
		int64_t now = now_ms();
		for (int i = 0; i < per_tx && done < max; i++) {
			char owner[32];
			int64_t turn = l->turn++ % OWNERS;
			owner_name(owner, sizeof owner, turn);
			rc = create ? create_one(l, owner, now) : claim_one(l, owner, now);
			if (rc != 1) break;
			l->created[turn] += create;
			done++;
		}
		if (rc < 0 || !count_created(l, now) || !drain(l->commit, NULL)) return -1;
	}
	*elapsed = seconds_now() - start;
	return done;
}

int limit_rest(limit *l) {
	const char *sql = "UPDATE tasks SET claim_holder = NULL, claim_since = NULL, claim_expires = NULL WHERE claim_expires IS NOT NULL;"
		"PRAGMA wal_checkpoint(TRUNCATE)";
	return sqlite3_exec(l->db, sql, NULL, NULL, NULL) == OK ? 0 : -1;
}
