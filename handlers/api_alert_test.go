package handlers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

// Nobody reads the log: admins must be notified that backups fail, and the
// notice must disappear after the problem is fixed.
func TestAFailedBackupAppearsInTheInboxOfAdmins(t *testing.T) {
	t.Parallel()
	const why = "no space left on device"
	inst := newSite(t)
	b := inst.maya()
	seen := func(failure error) {
		t.Helper()
		inst.ok(inst.svc.NoteJob(t.Context(), task.JobBackup, time.Second, failure))
	}
	seen(nil)
	b.get("/").hides("The last scheduled backup failed").shows("Inbox is empty")
	seen(errors.New(why))
	b.get("/").shows("The last scheduled backup failed", why, `href="/scheduler"`).hides("Inbox is empty")
	inst.person("otto", task.RoleOperator).get("/").hides("backup failed", why)
	seen(nil)
	b.get("/").hides("backup failed")

	s := newSite(t)
	s.ok(s.svc.NoteJob(t.Context(), task.JobBackup, time.Second, errors.New(why)))
	for caller, listed := range map[string]bool{"admin": true, "reviewer": false, "operator": false, "viewer": false, "agent": false} {
		body := string(s.do(caller, "GET", "/api/inbox", "").want(200).Body)
		if strings.Contains(body, why) != listed {
			t.Errorf("%s: %s", caller, body)
		}
	}
}
