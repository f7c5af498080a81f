package views

import (
	"bytes"
	"encoding/json"
	"strconv"

	"taskyard/task"
)

// PermissionAct is the target of forms that decide on a permission: allow or
// deny.
func (u urls) PermissionAct(run task.ID, n int, act string) string {
	return u.RunAct(run, "permissions/"+strconv.Itoa(n)+"/"+act)
}

// permission returns the run's current or latest permission request, or nil. A
// run that needs an approval first has none.
func (d *ApprovalDetail) permission() *task.Permission {
	switch {
	case d.waits():
		return nil
	case d.Run.Permission != nil:
		return d.Run.Permission
	}
	return d.Asked
}

// asks reports whether the run waits for a permission.
func (d *ApprovalDetail) asks() bool { return d.Run.Permission != nil && d.Run.Permission.IsPending() }

// formatArgs returns the arguments of a call for a reviewer: indented, but
// otherwise unchanged.
func formatArgs(p *task.Permission) string {
	var b bytes.Buffer
	if json.Indent(&b, p.Input, "", "  ") != nil {
		return string(p.Input)
	}
	return b.String()
}

// callText summarizes a call with its most informative argument.
func callText(p *task.Permission) string {
	if _, hint := indentArgs(p.Input); hint != "" {
		return p.Tool + ": " + hint
	}
	return p.Tool
}

// decisionDeadline returns when a pending decision expires, or 0.
func decisionDeadline(r *task.Run) task.Time {
	switch {
	case r.Permission != nil:
		return r.Permission.ExpiresAt
	case r.Approval != nil:
		return r.Approval.ExpiresAt
	}
	return 0
}

// expiryText introduces the expiry, if there is one.
func expiryText(r *task.Run) string {
	if decisionDeadline(r) == 0 {
		return ""
	}
	return ", expires "
}
