package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskyard/db"
	"taskyard/internal/exchange"
	"taskyard/task"
)

// ImportOptions say who owns what the files give to nobody that is known here.
type ImportOptions struct {
	Owner string            // agent of tasks without a known owner, or ""
	Map   map[string]string // name in the files → agent
}

// ReadyImport is a plan without problems.
type ReadyImport struct{ plan *exchange.Plan }

// PrepareImport gives every task of a plan an owner of this instance and adds to
// the plan's report. It writes nothing. Errors: every problem of the files,
// and every unknown owner, in one error.
func (s *Service) PrepareImport(a task.Actor, p *exchange.Plan, opt ImportOptions) (*ReadyImport, error) {
	if err := checkPerm(a, task.Admin); err != nil {
		return nil, err
	}
	if err := s.importProjects(p); err != nil {
		return nil, err
	}
	o := &ownerResolver{s: s, p: p, opt: opt, unknown: map[string]*exchange.Count{}}
	o.options()
	for _, item := range p.Items {
		o.resolve(item)
		item.Task.CreatedBy = o.name(item.Task.CreatedBy)
		for i := range item.Task.Comments {
			item.Task.Comments[i].Author = o.name(item.Task.Comments[i].Author)
		}
	}
	for i := range p.Todos {
		l := &p.Todos[i]
		if agent, ok := o.agent(l.Agent); ok {
			l.Agent = agent
		} else {
			p.Report.Note("todos.json", "the todo list of %s, which is not an agent here, waits for one of that name", l.Agent)
		}
	}
	o.reportUnknown()
	return &ReadyImport{p}, p.Report.Err()
}

// importProjects finds the project of every task, in the files or here, and
// notes who is to accept results but cannot vote here.
func (s *Service) importProjects(p *exchange.Plan) error {
	var people voters
	here, err := read(context.Background(), s, func(rx *db.Rx) (list []*task.Project, err error) {
		if people, err = votersHere(rx); err != nil {
			return nil, err
		}
		return rx.Projects()
	})
	if err != nil {
		return err
	}
	reviewers := func(where, what string, r task.Review) {
		for _, name := range append(slices.Clone(r.From), r.StandIn) {
			if name != "" && !people.has(name) && !isVotingRole(name) {
				p.Report.Note(where, "the review of %s names %s, who is not a reviewer or admin here: add that person, or change it", what, name)
			}
		}
	}
	known := map[string]bool{}
	for _, one := range here {
		known[one.Key] = true
	}
	added := 0
	for _, one := range p.Projects {
		switch {
		case known[one.Key]:
			p.Report.Note("projects.json", "project %s already exists and stays as it is", one.Key)
			continue
		case one.Repository != "":
			p.Report.Note("projects.json", "repository %s is not examined: run taskyard project examine %s", one.Repository, one.Key)
		}
		known[one.Key] = true
		added++
		reviewers("projects.json", "project "+one.Key, one.Review)
	}
	if n := len(here) + added; n > task.MaxProjects {
		p.Report.AddProblem("projects.json", "would make %d projects, more than %d", n, task.MaxProjects)
	}
	for _, item := range p.Items {
		switch key := item.Task.Project; {
		case key == "":
		case item.Task.Status == task.Done:
			p.Report.Note(item.Where, "done tasks of project %s lose it: their results are not exported, and a done task of a project has one", key)
		case !known[key]:
			p.Report.AddProblem(item.Where+".project", "there is no project %s: add its projects.json, or create it", key)
		}
		if policy := item.Task.Policy; policy != nil && !item.Task.Status.Archived() {
			reviewers(item.Where, "tasks", *policy)
		}
	}
	return nil
}

type ownerResolver struct {
	s         *Service
	p         *exchange.Plan
	opt       ImportOptions
	onlyAgent string // the only agent, or ""
	unknown   map[string]*exchange.Count
}

func (o *ownerResolver) options() {
	check := func(flag, agent string) {
		if _, err := o.s.knownAgent("", agent); err != nil {
			o.p.Report.AddProblem(flag, "%s", err)
		}
	}
	if o.opt.Owner != "" {
		check("--owner", o.opt.Owner)
	}
	for _, from := range slices.Sorted(maps.Keys(o.opt.Map)) {
		check("--map "+from, o.opt.Map[from])
	}
	if list := o.s.agents.Agents(); len(list) == 1 {
		o.onlyAgent = list[0].ID
	}
}

// resolve finds the owner: the mapped one, the named one, then the fallback.
// History keeps an owner that is no agent any more, as it does in an instance.
func (o *ownerResolver) resolve(item *exchange.Item) {
	t := &item.Task
	named := t.Owner
	agent, known := o.agent(named)
	switch {
	case known:
		t.Owner = agent
	case !o.p.Foreign() && t.Status.Archived() && task.ValidAgentID(named):
		o.p.Report.Note(item.Where, "history of %s, which is not an agent here, keeps its owner", named)
		return
	case o.opt.Owner != "":
		t.Owner = o.opt.Owner
		o.p.Report.Note(item.Where, "%s → owner %s", ownerPhrase(named), t.Owner)
	case o.p.Foreign() && o.onlyAgent != "":
		t.Owner = o.onlyAgent
		o.p.Report.Note(item.Where, "%s → owner %s, the only agent", ownerPhrase(named), t.Owner)
	default:
		if o.unknown[named] == nil {
			o.unknown[named] = &exchange.Count{What: named, First: item.Where}
		}
		o.unknown[named].N++
		return
	}
	// An agent with a broken definition may own drafts and history.
	if t.Status != task.Active {
		return
	}
	if err := o.s.checkOwner("owner", t.Owner, t.Status); err != nil {
		o.p.Report.AddProblem(item.Where+".owner", "%s", err)
	}
}

func ownerPhrase(name string) string {
	if name == "" {
		return "tasks of nobody"
	}
	return fmt.Sprintf("tasks of %q", name)
}

// agent finds the agent of a name of the files.
func (o *ownerResolver) agent(name string) (string, bool) {
	names := []string{name}
	if o.p.Foreign() { // where names are those of people, in their own spelling
		names = append(names, strings.ToLower(name))
	}
	for _, n := range names {
		if to, ok := o.opt.Map[n]; ok {
			return to, true // checked already
		}
		if _, ok := o.s.agents.Agent(n); ok {
			return n, true
		}
	}
	return "", false
}

// name maps an author. In files of other programs a name may be an agent's.
func (o *ownerResolver) name(author string) string {
	if to, ok := o.opt.Map[author]; ok {
		return to
	}
	trimmed, person := strings.CutPrefix(author, "user:")
	if !person || !o.p.Foreign() {
		return author
	}
	if agent, ok := o.agent(trimmed); ok {
		return agent
	}
	return author
}

// reportUnknown names every unknown owner with what helps.
func (o *ownerResolver) reportUnknown() {
	ids := []string{}
	for _, a := range o.s.agents.Agents() {
		ids = append(ids, a.ID)
	}
	known := "there is no agent yet: put a definition into the agents folder"
	if len(ids) > 0 {
		known = "known agents: " + strings.Join(ids, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(o.unknown)) {
		c := o.unknown[name]
		if name == "" {
			o.p.Report.AddProblem("owner", "tasks without one: %d (first: %s); give --owner AGENT (%s)", c.N, c.First, known)
			continue
		}
		o.p.Report.AddProblem("owner", "unknown agent %q, tasks: %d (first: %s); give --map '%s=AGENT' or --owner AGENT (%s)",
			name, c.N, c.First, name, known)
	}
}
