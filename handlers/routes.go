package handlers

import (
	"bytes"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/static"
	"taskyard/task"
)

// routes registers every route of the pages with its permission. apiRoutes
// registers those of the JSON API.
func (s *Server) routes() {
	s.apiRoutes()

	page, pageWithID, act := s.page, s.pageWithID, s.taskAct
	for _, r := range []struct {
		method, path string
		need         task.Perm
		h            echo.HandlerFunc
	}{
		{"GET", "/healthz", task.Everyone, s.healthz},
		{"GET", "/readyz", task.Everyone, s.readyz},
		{"GET", "/metrics", task.Everyone, s.metricsPage}, // with a token, or from this machine
		{"GET", profilePath, task.Admin, s.goProfile},
		{"GET", "/api/openapi.json", task.Everyone, s.openapi},
		{"GET", docsPath, task.Everyone, s.docsPage},
		{"GET", "/docs", task.Everyone, s.manualPage},
		{"GET", "/docs/:page", task.Everyone, s.manualPage},
		{"POST", "/mcp", task.SignedIn, s.mcp}, // only with a token
		{"GET", "/static/*", task.Everyone, s.static},
		{"GET", "/login", task.Everyone, s.loginPage},
		{"POST", "/login", task.Everyone, s.login},
		{"GET", "/login/link", task.Everyone, s.loginLink},
		{"POST", "/login/link", task.Everyone, s.loginLink},
		{"GET", "/setup", task.Everyone, s.setupPage},
		{"POST", "/setup", task.Everyone, s.setup},
		{"POST", "/logout", task.SignedIn, s.logout},
		{"GET", "/live", task.Read, s.live},

		{"GET", "/", task.Read, page(s.inboxPage)},
		{"POST", "/inbox/notices/:id/acknowledge", task.Person, withID(s.acknowledgeNotice)},
		{"POST", "/inbox/notices/:id/restore", task.Person, withID(s.restoreNotice)},
		{"POST", "/tour", task.SignedIn, s.endTour},
		{"POST", "/inbox/snooze", task.Person, s.snooze},
		{"POST", "/inbox/wake", task.Person, s.wake},
		{"GET", "/queues", task.Read, s.queues},
		{"GET", "/queues/:agent", task.Read, page(s.agentQueuePage)},
		{"GET", "/tasks", task.Read, page(s.tasksPage)},
		{"GET", "/tasks/bulk", task.Person, page(s.bulkPage)},
		{"POST", "/tasks/bulk", task.Person, s.postBulk},
		{"GET", "/styleguide", task.Admin, page(s.styleguidePage)},
		{"GET", "/search", task.Read, page(s.searchPage)},
		{"GET", "/views", task.Read, page(s.viewsPage)},
		{"POST", "/views", task.Read, s.saveView},
		{"POST", "/views/:id/rename", task.Read, withID(s.renameView)},
		{"POST", "/views/:id/delete", task.Read, withID(s.deleteView)},
		{"POST", "/tasks", task.Person, s.createTask},
		{"GET", "/tasks/new", task.Person, page(s.newTaskPage)},
		{"GET", "/tasks/:id", task.Read, pageWithID(s.taskPage)},
		{"POST", "/tasks/:id/comments", task.Person, act(s.comment, commentEntries)},
		{"POST", "/tasks/:id/reply", task.Person, act(s.reply, replyEntries)},
		{"POST", "/tasks/:id/steps", task.Person, act(s.addStep, stepEntries)},
		{"POST", "/tasks/:id/steps/:n", task.Person, s.withTask(s.updateStep)},
		{"GET", "/tasks/:id/steps/:n/edit", task.Person, s.taskForm(s.stepPage)},
		{"POST", "/tasks/:id/steps/:n/subtask", task.Person, s.withTask(s.createSubtask)},
		{"POST", "/tasks/:id/plan", task.Person, withID(s.postPlan)},
		{"POST", "/tasks/:id/resources/:n", task.Person, withID(s.editResource)},
		{"POST", "/tasks/:id/resources", task.Person, act(s.addResource, resourceEntries)},
		{"POST", "/tasks/:id/resources/:n/delete", task.Person, act(s.removeResource, noEntries)},
		{"POST", "/tasks/:id/blocked-by", task.Person, act(s.setBlockers, blockerEntries)},
		{"POST", "/tasks/:id/run", task.Person, act(s.runNow, noEntries)},
		{"POST", "/tasks/:id/start", task.Person, act(s.startTask, noEntries)},
		{"POST", "/tasks/:id/complete", task.Person, act(s.completeTask, noEntries)},
		{"POST", "/tasks/:id/release", task.Person, act(s.releaseClaim, noEntries)},
		{"GET", "/tasks/:id/move", task.Person, s.taskForm(s.movePage)},
		{"POST", "/tasks/:id/move", task.Person, s.withTask(s.postMove)},
		{"POST", "/tasks/:id/priority", task.Person, withID(s.postPriority)},
		{"GET", "/tasks/:id/edit", task.Person, s.taskForm(s.editPage)},
		{"POST", "/tasks/:id/edit", task.Person, s.withTask(s.editTask)},
		{"GET", "/tasks/:id/cancel", task.Person, s.taskForm(s.cancelPage)},
		{"POST", "/tasks/:id/cancel", task.Person, act(s.postCancel, noEntries)},

		{"GET", "/tasks/:id/checks", task.Read, pageWithID(s.checksPage)},
		{"POST", "/tasks/:id/checks", task.Decide, withID(s.setDemands)},
		{"POST", "/tasks/:id/checks/:name/run", task.Person, withID(s.runCheck)},
		{"GET", "/tasks/:id/checks/:check", task.Read, pageWithID(s.checkPage)},
		{"GET", "/tasks/:id/review", task.Read, pageWithID(s.reviewPage)},
		{"GET", "/tasks/:id/review/file", task.Read, pageWithID(s.reviewFilePage)},
		{"POST", "/tasks/:id/review/comments", task.Person, withID(s.draftComment)},
		{"POST", "/tasks/:id/review/comments/:comment", task.Person, withID(s.editDraft)},
		{"POST", "/tasks/:id/review/comments/:comment/reply", task.Person, withID(s.replyToComment)},
		{"POST", "/tasks/:id/review/submit", task.Person, withID(s.submitComments)},
		{"POST", "/tasks/:id/review/viewed", task.Person, withID(s.setViewed)},
		{"POST", "/tasks/:id/review/view", task.SignedIn, withID(s.setDiffView)},
		{"POST", "/tasks/:id/review/accept", task.Decide, withID(s.acceptResult)},
		{"POST", "/tasks/:id/review/request-changes", task.Decide, withID(s.requestChanges)},
		{"GET", "/merges", task.Read, page(s.mergesPage)},

		{"GET", "/approvals", task.Read, page(s.approvalsPage)},
		{"GET", "/approvals/:id", task.Read, pageWithID(s.approvalPage)},
		{"POST", "/approvals/approve", task.Decide, s.approveMany},
		{"POST", "/approvals/undo", task.Decide, s.undoDecisions},
		{"GET", "/runs", task.Read, page(s.runsPage)},
		{"GET", "/runs/:id", task.Read, pageWithID(s.runPage)},
		{"GET", "/runs/:id/transcript", task.Read, withID(s.transcript)},
		{"GET", "/runs/:id/lines/:line", task.Read, pageWithID(s.runLine)},
		{"GET", "/runs/:id/diff", task.Read, withID(s.diff)},
		{"POST", "/runs/:id/approve", task.Decide, withID(s.approveRun)},
		{"POST", "/runs/:id/deny", task.Decide, withID(s.denyRun)},
		{"POST", "/runs/:id/permissions/:n/allow", task.Decide, withID(s.allowPermission)},
		{"POST", "/runs/:id/permissions/:n/deny", task.Decide, withID(s.denyPermission)},
		{"POST", "/runs/:id/cancel", task.Person, withID(s.cancelRun)},
		{"POST", "/runs/:id/messages", task.Person, withID(s.sendRunMessage)},
		{"POST", "/runs/:id/retry", task.Person, withID(s.retryRun)},
		{"GET", "/history", task.Read, page(s.historyPage)},
		{"GET", "/history.csv", task.Read, s.historyCSV},
		{"GET", "/history.json", task.Read, s.historyJSON},
		{"GET", "/insights", task.Read, page(s.insightsPage)},

		{"GET", "/agents", task.Read, page(s.agentsPage)},
		{"POST", "/agents", task.Admin, s.createAgent},
		{"GET", "/agents/new", task.Admin, page(s.newAgentPage)},
		{"POST", "/agents/new/check", task.Admin, s.checkAgent},
		{"POST", "/agents/reload", task.Admin, s.reloadAgents},
		{"GET", "/agents/:id", task.Read, page(s.agentPage)},
		{"POST", "/agents/:id", task.Admin, s.updateAgent},
		{"POST", "/agents/:id/todo", task.Person, s.postTodo},
		{"GET", "/agents/:id/connect", task.Admin, page(s.connectPage)},
		{"POST", "/agents/:id/connect", task.Admin, s.connectAgent},
		{"GET", "/agents/:id/edit", task.Admin, page(s.editAgentPage)},
		{"POST", "/agents/:id/delete", task.Admin, s.deleteAgent},
		{"GET", "/agents/:id/pause", task.Person, page(s.pausePage)},
		{"POST", "/agents/:id/pause", task.Person, s.postPause},
		{"POST", "/agents/:id/resume", task.Person, s.postResume},
		{"POST", "/runners/probe", task.Admin, s.probeRunners},
		{"GET", "/scheduler", task.Read, page(s.schedulerPage)},
		{"GET", "/scheduler/pause", task.Person, page(s.pausePage)},
		{"POST", "/scheduler/pause", task.Person, s.postPause},
		{"POST", "/scheduler/resume", task.Person, s.postResume},
		{"GET", "/scheduler/stop-everything", task.Person, page(s.stopPage)},
		{"POST", "/scheduler/stop-everything", task.Person, s.postStop},
		{"POST", "/scheduler/tick", task.Person, s.tickNow},
		{"POST", "/scheduler/jobs/:name/run", task.Admin, s.runJob},

		{"GET", "/settings", task.Read, page(s.profilePage)},
		{"GET", "/settings/appearance", task.Read, page(s.appearancePage)},
		{"POST", "/settings/appearance", task.SignedIn, s.setAppearance},
		{"POST", "/settings/keys", task.SignedIn, s.setKeys},
		{"POST", "/settings/password", task.SignedIn, s.changePassword},
		{"POST", "/settings/signout", task.SignedIn, s.signOutEverywhere},
		{"POST", "/settings/sessions/end", task.SignedIn, s.endSession},
		{"GET", "/settings/server", task.Admin, page(s.serverPage)},
		{"POST", "/settings/server", task.Admin, s.setSettings},
		{"GET", "/settings/projects", task.Read, page(s.projectsPage)},
		{"POST", "/settings/projects", task.Admin, s.createProject},
		{"GET", "/settings/projects/new", task.Admin, page(s.newProjectPage)},
		{"GET", "/settings/projects/:key", task.Read, page(s.projectPage)},
		{"POST", "/settings/projects/:key", task.Admin, s.updateProject},
		{"POST", "/settings/projects/:key/archive", task.Admin, s.archiveProject},
		{"POST", "/settings/projects/:key/restore", task.Admin, s.restoreProject},
		{"GET", "/settings/people", task.Admin, page(s.peoplePage)},
		{"POST", "/settings/people", task.Admin, s.addPerson},
		{"POST", "/settings/people/:id/role", task.Admin, withID(s.setRole)},
		{"POST", "/settings/people/:id/disable", task.Admin, withID(s.disablePerson)},
		{"POST", "/settings/people/:id/enable", task.Admin, withID(s.enablePerson)},
		{"GET", "/settings/tokens", task.Account, page(s.tokensPage)},
		{"POST", "/settings/tokens", task.Account, s.createToken},
		{"POST", "/settings/tokens/:id/revoke", task.Account, withID(s.revokeToken)},
		{"GET", "/settings/limits", task.Read, page(s.limitsPage)},
		{"GET", "/settings/about", task.Read, page(s.aboutPage)},
	} {
		s.perms[r.method+" "+r.path] = r.need
		s.echo.Add(r.method, r.path, r.h)
		if r.method == http.MethodGet && !streamingPaths[r.path] {
			s.echo.Add(http.MethodHead, r.path, r.h) // net/http omits the body
		}
	}
}

// streamingPaths are the paths whose answers have no end, or no known length.
var streamingPaths = map[string]bool{"/live": true, "/mcp": true, profilePath: true}

func (s *Server) healthz(c echo.Context) error {
	if s.svc.Stopping() {
		return c.Blob(http.StatusServiceUnavailable, "application/json", s.leaving)
	}
	return c.Blob(http.StatusOK, "application/json", s.alive)
}

// static serves the embedded files; with their hash in the URL, they may be
// cached forever.
func (s *Server) static(c echo.Context) error {
	name := c.Param("*")
	f, ok := static.Read(name)
	if !ok {
		return echo.ErrNotFound
	}
	r, h := c.Request(), c.Response().Header()
	h.Set("Cache-Control", "public, max-age=300")
	if c.QueryParam("v") == f.Hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("ETag", `W/"`+f.Hash+`"`)
	h.Set("Content-Type", static.ContentType(name))
	content := f.Content
	if f.Gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			content = f.Gzip()
		}
	}
	http.ServeContent(c.Response(), r, name, time.Time{}, bytes.NewReader(content))
	return nil
}
