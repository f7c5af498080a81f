package db

import (
	"taskyard/task"
)

// SetUsage records what a running run has used so far and counts the difference
// to r.Usage as used today.
func (tx *Tx) SetUsage(r *task.Run, now task.Usage) error {
	if err := tx.do("UPDATE runs SET usage = ? WHERE id = ? AND lease = ? AND status = 'running'", asJSON(now), r.ID, r.Lease); err != nil {
		return err
	}
	return tx.countUse(r, 0, now)
}

// What a run r used, which it stores as JSON; NULL where it does not say.
const (
	usedCalls     = "CAST(json_extract(r.usage, '$.toolCalls') AS BIGINT)"
	usedIn        = "CAST(json_extract(r.usage, '$.tokensIn') AS BIGINT)"
	usedOut       = "CAST(json_extract(r.usage, '$.tokensOut') AS BIGINT)"
	usedCost      = "CAST(json_extract(r.usage, '$.costUsd') AS DOUBLE PRECISION)"
	usedEstimated = `CASE WHEN r.usage LIKE '%"estimated":true%' THEN 1 ELSE 0 END`
	usedTokens    = "coalesce(" + usedIn + ", 0) + coalesce(" + usedOut + ", 0)"
)

// countUse adds to today's sums what a run used more than r.Usage.
func (tx *Tx) countUse(r *task.Run, ended int, now task.Usage) error {
	before := r.Usage
	return tx.do(`INSERT INTO usage_days AS d (day, agent, model, runs, tool_calls, tokens_in, tokens_out, cost_usd, estimated)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (day, agent, model) DO UPDATE SET runs = d.runs + excluded.runs, tool_calls = d.tool_calls + excluded.tool_calls,
 tokens_in = d.tokens_in + excluded.tokens_in, tokens_out = d.tokens_out + excluded.tokens_out,
 cost_usd = d.cost_usd + excluded.cost_usd, estimated = max(d.estimated, excluded.estimated)`,
		task.StartOfDay(tx.Now), r.Agent, r.Model, ended, now.ToolCalls-before.ToolCalls, now.TokensIn-before.TokensIn,
		now.TokensOut-before.TokensOut, now.CostUSD-before.CostUSD, now.Estimated)
}

// UsedToday returns what an agent has used today, UTC, or with "" the whole
// instance.
func (rx *Rx) UsedToday(agent string) (u task.Usage, err error) {
	err = rx.row(`SELECT coalesce(sum(tool_calls), 0), coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0),
 coalesce(sum(cost_usd), 0.0), coalesce(max(estimated), 0)
 FROM usage_days WHERE day = ?1 AND (?2 = '' OR agent = ?2)`, task.StartOfDay(rx.Now),
		agent).Scan(&u.ToolCalls, &u.TokensIn, &u.TokensOut, &u.CostUSD, &u.Estimated)
	return u, err
}

// Usage sums what was used from one day to before another, by day, agent or
// model.
func (rx *Rx) Usage(by string, from, to task.Time, limit int) ([]task.UsageRow, error) {
	rows := rx.query(`SELECT CASE ?1 WHEN 'agent' THEN agent WHEN 'model' THEN model ELSE date(day / 1000, 'unixepoch') END AS k, '',
 sum(runs), sum(tool_calls), sum(tokens_in), sum(tokens_out), sum(cost_usd), max(estimated)
 FROM usage_days WHERE day >= ?2 AND day < ?3 GROUP BY k
 ORDER BY CASE ?1 WHEN 'day' THEN min(day) END, sum(cost_usd) DESC, sum(tokens_in + tokens_out) DESC, k LIMIT ?4`, by, from, to, limit)
	return collect(rows, scanUsageRow)
}

// usedByEnded sums what the runs used that ended from ?1 to before ?2, in the
// order of scanUsageRow.
const usedByEnded = ` count(*), sum(coalesce(` + usedCalls + `, 0)),
 sum(coalesce(` + usedIn + `, 0)), sum(coalesce(` + usedOut + `, 0)),
 sum(coalesce(` + usedCost + `, 0.0)) AS c, max(coalesce(` + usedEstimated + `, 0))
 FROM runs r INDEXED BY runs_ended WHERE r.ended_at >= ?1 AND r.ended_at < ?2 AND r.started_at IS NOT NULL`

// TaskUsage sums what the runs of each task used that ended from one moment to
// before another.
func (rx *Rx) TaskUsage(from, to task.Time, limit int) ([]task.UsageRow, error) {
	rows := rx.query(`SELECT CAST(r.task_id AS TEXT), (SELECT title FROM tasks
 WHERE id = r.task_id),`+usedByEnded+` GROUP BY r.task_id
 ORDER BY c DESC, sum(`+usedTokens+`) DESC, r.task_id LIMIT ?3`, from, to, limit)
	return collect(rows, scanUsageRow)
}

// ProjectUsage sums what the runs of each project's tasks used that ended from
// one moment to before another.
func (rx *Rx) ProjectUsage(from, to task.Time, limit int) ([]task.UsageRow, error) {
	rows := rx.query(`SELECT (SELECT project FROM tasks WHERE id = r.task_id) AS k, '',`+usedByEnded+` GROUP BY k
 ORDER BY c DESC, sum(`+usedTokens+`) DESC, k LIMIT ?3`, from, to, limit)
	return collect(rows, scanUsageRow)
}

// RunUsage lists what each run used that ended from one moment to before
// another, the costliest first.
func (rx *Rx) RunUsage(from, to task.Time, limit int) ([]task.UsageRow, error) {
	rows := rx.query(`SELECT CAST(r.id AS TEXT), (SELECT title FROM tasks
 WHERE id = r.task_id), 1, coalesce(`+usedCalls+`, 0),
 coalesce(`+usedIn+`, 0), coalesce(`+usedOut+`, 0),
 coalesce(`+usedCost+`, 0.0) AS c, coalesce(`+usedEstimated+`, 0)
 FROM runs r INDEXED BY runs_ended WHERE r.ended_at >= ?1 AND r.ended_at < ?2 AND r.started_at IS NOT NULL
 ORDER BY c DESC, `+usedTokens+` DESC, r.id LIMIT ?3`, from, to, limit)
	return collect(rows, scanUsageRow)
}

func scanUsageRow(s rowScanner) (u task.UsageRow, err error) {
	return u, s.Scan(&u.Key, &u.Title, &u.Runs, &u.ToolCalls, &u.TokensIn, &u.TokensOut, &u.CostUSD, &u.Estimated)
}
