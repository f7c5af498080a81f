//go:build !windows

package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"taskyard/internal/app"
	"taskyard/runner/git"
	"taskyard/task"
	"taskyard/views"
)

// demoSite contains the repository of the demo's project: a bakery's site, and
// a check that its opening hours are complete.
var demoSite = map[string]string{
	"index.html": "<h1>The bakery</h1>\n<p>Bread, rolls and cake.</p>\n",
	"hours.txt":  "Opening hours\n",
	"check.sh": `# The site is complete when each day has its hours.
for day in Monday Saturday Sunday; do
  grep -q "$day" hours.txt || { echo "hours.txt: $day is missing"; exit 1; }
done
echo "hours.txt: complete"
`,
}

// fillDemoSite creates a project with a small repository and a task in it, as
// the demo's user. It does nothing if Git is not installed.
func fillDemoSite(ctx context.Context, in *app.Instance, u task.User) error {
	g, err := git.Find()
	if errors.Is(err, git.ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	data, err := filepath.Abs(in.Config.Data)
	if err != nil {
		return err
	}
	repository := filepath.Join(filepath.Dir(data), filepath.Base(data)+"-site")
	if _, err := os.Stat(repository); err == nil && !isDemoSite(repository) {
		return nil // it belongs to someone else
	}
	if err := makeDemoSite(ctx, g, repository); err != nil {
		return err
	}
	me := task.Actor{Name: task.UserActorName(u.Name), Role: u.Role, UserID: u.ID}
	check := task.Check{Name: "complete", Run: "sh check.sh", TimeoutSeconds: 60, Required: true}
	_, err = in.Service.CreateProject(ctx, me, task.Project{
		Key: "site", Name: "The bakery's site", Description: "A small repository beside the data folder of the demo.",
		Repository: repository, Checks: []task.Check{check}, Merge: &task.Merge{Checks: []task.Check{check}},
	})
	if err != nil {
		return err
	}
	_, err = in.Service.CreateTask(ctx, me, task.New{
		Title: views.TourReview, Owner: "builder", Priority: 5, Project: "site",
		Description: "Put the hours of each day into `hours.txt`. The check says whether one is missing.",
	})
	return err
}

// makeDemoSite creates the repository, replacing an existing one.
func makeDemoSite(ctx context.Context, g git.Git, dir string) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	for name, text := range demoSite {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	g = g.At(dir).As("Taskyard demo").With("GIT_COMMITTER_NAME=Taskyard demo", "GIT_COMMITTER_EMAIL=demo@taskyard.localhost")
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}, {"commit", "--quiet", "--message=Open the bakery"},
	} {
		if _, err := g.Run(ctx, nil, args...); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, ".git", demoSiteMark), nil, 0o600)
}

// demoSiteMark is a file that identifies a repository that the demo created.
const demoSiteMark = "taskyard-demo"

func isDemoSite(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ".git", demoSiteMark))
	return err == nil
}
