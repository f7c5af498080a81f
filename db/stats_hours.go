package db

import "taskyard/task"

// RunTotals sums ended runs.
type RunTotals struct {
	Hour   task.Time `json:"hour,omitzero"`
	Agent  string    `json:"agent,omitempty"`
	Status string    `json:"status"`
	Runs   int       `json:"runs"`
	Millis int64     `json:"durationMs"`
	Tokens int64     `json:"tokens"`
	Cost   float64   `json:"costUsd"`
}

// startOfHour returns the start of the hour that contains t.
func startOfHour(t task.Time) int64 { return int64(t - t%task.Hour) }

// RollUp sums again the ended runs of every hour from the given one on; the
// sums are kept as runs end, so this corrects rather than makes them.
func (tx *Tx) RollUp(from task.Time) error {
	if err := tx.do("DELETE FROM stats_hours WHERE hour >= ? AND what LIKE 'run.%'", startOfHour(from)); err != nil {
		return err
	}
	return tx.do(`INSERT INTO stats_hours (hour, agent, model, what, project, n, millis, tokens_in, tokens_out, cost_usd, estimated)
 SELECT r.ended_at / ?1 * ?1 AS h, r.agent, r.model, 'run.' || r.status, t.project, count(*),
  sum(r.ended_at - coalesce(r.started_at, r.ended_at)),
  sum(coalesce(`+usedIn+`, 0)), sum(coalesce(`+usedOut+`, 0)),
  sum(coalesce(`+usedCost+`, 0.0)), max(coalesce(`+usedEstimated+`, 0))
 FROM runs r INDEXED BY runs_ended CROSS JOIN tasks t ON t.id = r.task_id
 WHERE r.ended_at IS NOT NULL AND r.ended_at >= ?2 GROUP BY h, r.agent, r.model, r.status, t.project`, int64(task.Hour), startOfHour(from))
}

// countRun adds a run that ends now to the sums of its hour.
func (tx *Tx) countRun(r *task.Run, status task.RunStatus, u task.Usage) error {
	millis := int64(0)
	if r.StartedAt != 0 {
		millis = int64(tx.Now - r.StartedAt)
	}
	return tx.do(`INSERT INTO stats_hours AS h (hour, agent, model, what, project, n, millis, tokens_in, tokens_out, cost_usd, estimated)
 VALUES (?, ?, ?, ?, (SELECT project FROM tasks WHERE id = ?), 1, ?, ?, ?, ?, ?)
 ON CONFLICT (hour, agent, model, what, project) DO UPDATE SET n = h.n + 1, millis = h.millis + excluded.millis,
 tokens_in = h.tokens_in + excluded.tokens_in, tokens_out = h.tokens_out + excluded.tokens_out,
 cost_usd = h.cost_usd + excluded.cost_usd, estimated = max(h.estimated, excluded.estimated)`,
		startOfHour(tx.Now), r.Agent, r.Model, "run."+string(status), r.TaskID, millis, u.TokensIn, u.TokensOut, u.CostUSD, u.Estimated)
}

// RunHours returns the hourly sums of runs since a moment.
func (rx *Rx) RunHours(since task.Time) ([]RunTotals, error) {
	rows := rx.query(`SELECT hour, agent, substr(what, 5), sum(n), sum(millis), sum(tokens_in + tokens_out), sum(cost_usd)
 FROM stats_hours WHERE hour >= ? AND what LIKE 'run.%' GROUP BY hour, agent, what`, since)
	return collect(rows, func(r rowScanner) (t RunTotals, err error) {
		return t, r.Scan(&t.Hour, &t.Agent, &t.Status, &t.Runs, &t.Millis, &t.Tokens, &t.Cost)
	})
}

// statSums are the sums of a group of stats_hours, in the order of
// scanStat.
const statSums = ` coalesce(sum(n) FILTER (WHERE what = 'created'), 0), coalesce(sum(n) FILTER (WHERE what = 'done'), 0),
 coalesce(sum(n) FILTER (WHERE what = 'canceled'), 0), coalesce(sum(n) FILTER (WHERE what = 'asked'), 0),
 coalesce(sum(n) FILTER (WHERE what = 'run.completed'), 0), coalesce(sum(n) FILTER (WHERE what = 'run.failed'), 0),
 coalesce(sum(n) FILTER (WHERE what = 'run.canceled'), 0),
 sum(millis), sum(tokens_in), sum(tokens_out), sum(cost_usd), max(estimated)
 FROM stats_hours WHERE hour >= ?1 AND hour < ?2 AND (?3 = '' OR agent = ?3) AND (?4 = '' OR model = ?4)
 AND (?5 = '' OR project = ?5)`

// StatHours returns the sums of each hour that had any activity, in order.
func (rx *Rx) StatHours(f task.StatFilter) ([]task.StatRow, error) {
	return collect(rx.query("SELECT hour, '', '', '',"+statSums+" GROUP BY hour", f.From, f.To, f.Agent, f.Model, f.Project), scanStat)
}

// StatGroups sums what happened by agent, model and project, in order.
func (rx *Rx) StatGroups(f task.StatFilter) ([]task.StatRow, error) {
	rows := rx.query("SELECT 0, agent, model, project,"+statSums+" GROUP BY agent, model, project",
		f.From, f.To, f.Agent, f.Model, f.Project)
	return collect(rows, scanStat)
}

func scanStat(s rowScanner) (r task.StatRow, err error) {
	return r, s.Scan(&r.Hour, &r.Agent, &r.Model, &r.Project, &r.Created, &r.Done, &r.Canceled, &r.Asked,
		&r.RunsCompleted, &r.RunsFailed, &r.RunsCanceled, &r.Millis, &r.TokensIn, &r.TokensOut, &r.CostUSD, &r.Estimated)
}
