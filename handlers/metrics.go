package handlers

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"taskyard/service"
	"taskyard/task"
)

// metrics counts requests and serves Prometheus.
type metrics struct {
	requests *prometheus.HistogramVec
	page     http.Handler
}

func newMetrics(svc *service.Service, clock Scheduler, open *conns, log *slog.Logger) *metrics {
	reg := prometheus.NewRegistry()
	m := &metrics{requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "taskyard_http_request_duration_seconds", Help: "Requests by method, route template and status.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
	}, []string{"method", "route", "status"})}
	refused := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "taskyard_connections_refused_total",
		Help: "Connections closed since the start because too many were open, from their address or in total.",
	}, func() float64 { return float64(open.refused.Load()) })
	reg.MustRegister(m.requests, refused, instanceCollector{svc, log, clock}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.page = promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)})
	return m
}

// observe counts a request. Labels come from a bounded set: callers can choose
// neither route nor method.
func (m *metrics) observe(c echo.Context, took time.Duration) {
	method := c.Request().Method
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		method = "other"
	}
	m.requests.WithLabelValues(method, cmp.Or(c.Path(), "none"), strconv.Itoa(c.Response().Status)).Observe(took.Seconds())
}

func (s *Server) metricsPage(c echo.Context) error {
	if err := s.checkMetricsAccess(c); err != nil {
		return err
	}
	s.metrics.page.ServeHTTP(c.Response(), c.Request())
	return nil
}

// descs are all descriptors that desc created.
var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("taskyard_"+name, help, labels, nil)
	descs = append(descs, d)
	return d
}

var (
	descQueued    = desc("queue_tasks", "Active tasks without a live claim.", "agent")
	descOldest    = desc("queue_oldest_seconds", "Age of the oldest queued task.", "agent")
	descClaims    = desc("claims_live", "Active tasks with a live claim.", "agent")
	descApprovals = desc("approvals_waiting", "Runs that wait for approval.")
	descInFlight  = desc("runs_running", "Runs that run now.")
	descRuns      = desc("runs_ended_24h", "Runs that ended in the last 24 hours, by outcome, as of the last roll-up.", "status")
	descCommits   = desc("commits_total", "Transactions committed since the start.")
	descWrites    = desc("writes_total", "Writes in these transactions; their ratio is the batch size.")
	descCommitSec = desc("commit_seconds_total", "Time that commits took.")
	descWaiting   = desc("writes_waiting", "Writes that wait for the writer.")
	descWAL       = desc("wal_bytes", "Bytes of the write-ahead log.")
	descDatabase  = desc("database_bytes", "Bytes of the database.")
	descStreams   = desc("live_subscribers", "Open live streams.")
	descSignups   = desc("signups_waiting", "Signups that wait for a task.")
	descRefusals  = desc("refusals_total", "Calls refused since the start: by permission, "+
		"by relation, for their token, or as cross-site.", "reason")
	descQuotas     = desc("quota_refusals_total", "Calls refused since the start because a token or a person had used up a quota.", "quota")
	descIndexed    = desc("search_indexed_ratio", "Share of the log that the search has seen.")
	descBehind     = desc("search_behind", "Lines of the log that the search has yet to see.")
	descOpenBehind = desc("open_index_behind", "Lines of the log that the index of open tasks has yet to see; "+
		"over 5,000, lists of many read them all.")
	descEvents    = desc("events_total", "Events written since the start, by kind: claims, expired leases, retries and all else.", "kind")
	descRefused   = desc("write_refusals_total", "Writes refused since the start, by code: stale claims and leases, a full disk.", "code")
	descCommitLat = desc("commit_duration_seconds", "Time from the end of a transaction's statements until it was synced.")
	descKilled    = desc("orphans_killed_total", "Processes of lost runs that were ended since the start.")
	descBackupAge = desc("backup_age_seconds", "Age of the newest scheduled backup.")
	descBackupLen = desc("backup_size_bytes", "Bytes of the newest scheduled backup.")
	descTickAge   = desc("tick_age_seconds", "Time since the last tick.")
	descFree      = desc("disk_free_bytes", "Room on the disk of the database.")
	descServers   = desc("servers", "Servers that share the database of PostgreSQL.")
	descLeads     = desc("server_leads", "1 on the server that leads the others, which ticks, merges and notifies; else 0.")
	descReady     = desc("ready", "1 when the database can be written, else 0.")
)

// instanceCollector reads the state of the server on each scrape.
type instanceCollector struct {
	svc   *service.Service
	log   *slog.Logger
	clock Scheduler // may be nil
}

// Describe names every metric.
func (c instanceCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// Collect collects the metrics; those that cannot be read now are omitted.
func (c instanceCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	events, refused := c.svc.Counters()
	for kind, n := range events {
		count(descEvents, float64(n), kind)
	}
	for code, n := range refused {
		count(descRefused, float64(n), string(code))
	}
	if free, err := c.svc.Free(); err == nil {
		gauge(descFree, float64(free))
	}
	ready := 1.0
	if c.svc.Fault() != nil {
		ready = 0
	}
	gauge(descReady, ready)
	if c.clock != nil {
		v := c.clock.Health()
		count(descKilled, float64(v.Killed))
		if v.BackupAt != 0 {
			gauge(descBackupAge, c.svc.Now().Sub(v.BackupAt).Seconds())
			gauge(descBackupLen, float64(v.BackupSize))
		}
		if v.TickAt != 0 {
			gauge(descTickAge, c.svc.Now().Sub(v.TickAt).Seconds())
		}
	}
	gauge(descStreams, float64(c.svc.Hub().Subscribers()))
	gauge(descSignups, float64(c.svc.WaitingSignups()))
	for reason, n := range c.svc.Refusals() {
		count(descRefusals, float64(n), reason)
	}
	if about, err := c.svc.About(ctx); err != nil {
		c.log.Warn("failed to read the metrics of the store", "error", err)
	} else {
		m := about.Metrics
		count(descCommits, float64(m.Batches))
		count(descWrites, float64(m.Writes))
		count(descCommitSec, m.CommitTime.Seconds())
		buckets, n := m.CommitBuckets()
		ch <- prometheus.MustNewConstHistogram(descCommitLat, n, m.CommitTime.Seconds(), buckets)
		gauge(descWaiting, float64(m.Queued))
		gauge(descWAL, float64(m.WALBytes))
		gauge(descDatabase, float64(about.Engine.Bytes))
		gauge(descIndexed, float64(about.History.Done)/max(1, float64(about.History.Done+about.History.Behind)))
		gauge(descBehind, float64(about.History.Behind))
		gauge(descOpenBehind, float64(about.Open.Behind))
	}
	if servers, err := c.svc.Servers(ctx); err != nil {
		c.log.Warn("failed to read the metrics of the servers", "error", err)
	} else if len(servers) > 0 {
		leads := 0.0
		for _, s := range servers {
			if s.This && s.Leads {
				leads = 1
			}
		}
		gauge(descServers, float64(len(servers)))
		gauge(descLeads, leads)
	}
	for _, q := range c.svc.Quotas() {
		count(descQuotas, float64(q.Refused), q.Name)
	}
	now := c.svc.Now()
	st, err := c.svc.Stats(ctx, task.SystemActor, now.Add(-day))
	if err != nil {
		c.log.Warn("failed to read the metrics of the server", "error", err)
		return
	}
	gauge(descApprovals, float64(st.Approvals))
	gauge(descInFlight, float64(len(st.InFlight)))
	for agent, l := range st.Loads {
		gauge(descQueued, float64(l.Queued), agent)
		gauge(descClaims, float64(l.Working), agent)
		if l.OldestAt != 0 {
			gauge(descOldest, now.Sub(l.OldestAt).Seconds(), agent)
		}
	}
	ended := map[string]int{string(task.RunCompleted): 0, string(task.RunFailed): 0, string(task.RunCanceled): 0}
	for _, h := range st.Hours {
		ended[h.Status] += h.Runs
	}
	for status, n := range ended {
		gauge(descRuns, float64(n), status)
	}
}
