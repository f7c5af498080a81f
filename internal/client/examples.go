package client

import (
	"strings"

	"taskyard/internal/lazyregexp"
)

// textNote is in the help of commands that accept texts.
const textNote = "Shells execute text in backticks, even inside double quotes: pass long texts with - (stdin) or --file."

// examples contains the examples of each command, by its path. Lines without
// indentation are remarks.
var examples = map[string]string{
	"": "Client commands take the server's address from TASKYARD_URL (default http://127.0.0.1:8080) and the token from " +
		"TASKYARD_TOKEN, or from the file in TASKYARD_TOKEN_FILE. TASKYARD_AGENT and TASKYARD_TASK_ID are the default agent " +
		"and task; Taskyard sets them in its runs.\n\n" +
		"Exit codes: 0 success, 1 refused, 2 usage error, 3 nothing to claim or pop, 4 server not reachable.",

	"worker": `
    taskyard worker --url https://tasks.example.org --labels gpu,linux --exec "python3 /srv/agent.py"
    taskyard worker --url https://tasks.example.org --config worker.toml --parallel 4
TASKYARD_TOKEN must hold a token with the scope worker. When the worker stops, its runs are returned to the queue.
The server needs a runner of kind worker: see docs/runners.md.`,

	"db copy": `
    taskyard db copy --from sqlite:/var/lib/taskyard/taskyard.db --to postgres://taskyard@db.example.org/taskyard
    taskyard db copy --from postgres://taskyard@db.example.org/taskyard --to sqlite:data/taskyard.db
Set PGPASSWORD, or use a ~/.pgpass file, so that no password is on the command line.`,

	"notify test": `
    taskyard notify test ops
The address of [notify.ops] is in the variable that its url_env names: see docs/operations.md.`,

	"task list": `
    taskyard task list --owner coder --work-status idle
    taskyard task list --project web --json | jq -r '.tasks[].id'`,
	"task show": `
    taskyard task show 42`,
	"task create": `
    taskyard task create "Fix the login page" --owner coder --priority 5
    taskyard task create "Speed up the search" --owner coder --project web
    taskyard task create "Write the guide" --owner writer --file guide.md --step Outline --step Write
    git log -1 | taskyard task create "Review the last commit" --owner reviewer --description -
` + textNote,
	"task claim": `
    taskyard task claim --wait 50
    while id=$(taskyard task claim --wait 50 --quiet); do work-on "$id"; done
Exit code 3: no task is idle.`,
	"task move": `
    taskyard task move 42 reviewer --comment "Ready for review"
    taskyard task move 42 reviewer --comment - < handover.md
` + textNote,
	"task complete": `
    taskyard task complete 42 --summary "The form checks its fields"
    taskyard task complete 42 --summary - --next < summary.md
Within a run the ID is optional. --next also claims the next task of the queue; exit code 3 then means: completed, but no task is idle.`,
	"task cancel": `
    taskyard task cancel 42 --reason "Not wanted any more"`,
	"task run": `
    taskyard task run 42
    taskyard run wait "$(taskyard task run 42 --quiet)" --timeout 10m`,
	"task update": `
    taskyard task update 42 --priority 10 --label api --label urgent
    taskyard task update 42 --file description.md
    taskyard task update 42 --status active
    taskyard task update 42 --check 'name=e2e,run=make e2e,required' --approvals 2 --reviewer maya --reviewer rita`,
	"task comment": `
    taskyard task comment 42 "Found the cause"
    make test 2>&1 | tail -20 | taskyard task comment 42 -
` + textNote,
	"task ask": `
    taskyard task ask 42 "Which of the two names?"
    taskyard task ask 42 --file question.md
The task waits until a person answers, and your claim ends unless you keep it:
the next "taskyard task claim" returns the task with the answer. ` + textNote,
	"task notify": `
    taskyard task notify 42 "The preview is up"
` + textNote,
	"task reply": `
    taskyard task reply 42 "The first one"
` + textNote,
	"task steps": `
    taskyard task steps 42 --step "Read the code" --step "Write the test"
    printf '%s\n' "Read the code" "Write the test" | taskyard task steps 42
    taskyard task steps 42 --file plan.md
Each line is a step. Markdown list markers are removed, and [x] marks the step as done.`,
	"task add-step": `
    taskyard task add-step 42 "Write the release note"
    taskyard task add-step 42 "Write the test" --at 1`,
	"task step": `
    taskyard task step 42 0 --done
    taskyard task step 42 1 --title "Write two tests"`,
	"task subtask": `
    taskyard task subtask 42 1 "Test the form" --owner test-runner
` + textNote,
	"task attach": `
    taskyard task attach 42 https://example.org/report --label Report`,
	"task detach": `
    taskyard task detach 42 0`,
	"task block": `
    taskyard task block 42 40 41
    taskyard task block 42 --none`,
	"task check": `
    taskyard task check 42
    taskyard task check 42 test`,
	"task checkout": `
    cd "$(taskyard task checkout 42)"
    taskyard task checkout 42 ./review --remote ssh://git.example.org/web.git
The worktree is on the commit, without a branch, so that the runs of the task can continue; run it again for what is new. Hooks and filters
of the repository are not run. Remove it with: git worktree remove FOLDER`,
	"task why": `
    taskyard task why 42`,
	"task history": `
    taskyard task history --owner coder --limit 10
    taskyard task history --query "login form" --from 2026-01-01T00:00:00Z`,
	"task release": `
    taskyard task release 42`,
	"task heartbeat": `
    taskyard task heartbeat 42 --claim 3`,

	"todo lpush": `
    taskyard todo lpush "do this first"
` + textNote,
	"todo rpush": `
    taskyard todo rpush "do this later"
    taskyard todo rpush --agent coder -  < item.txt
` + textNote,
	"todo lpop": `
    while item=$(taskyard todo lpop); do echo "$item"; done
Exit code 3: the list is empty.`,
	"todo rpop": `
    taskyard todo rpop`,
	"todo lpeek": `
    taskyard todo lpeek --agent coder`,
	"todo rpeek": `
    taskyard todo rpeek`,
	"todo list": `
    taskyard todo list
    taskyard todo list --json | jq -r '.items[]'`,
	"todo count": `
    taskyard todo count`,

	"agent list": `
    taskyard agent list`,
	"agent show": `
    taskyard agent show coder
    taskyard agent show coder --text > coder.md`,
	"agent queue": `
    taskyard agent queue coder`,
	"agent runners": `
    taskyard agent runners
    taskyard agent runners --probe`,
	"agent restore": `
    taskyard agent restore
    taskyard agent restore code-focused --data /srv/taskyard`,
	"agent check": "\n" +
		"    taskyard agent check agents/*.md\n" +
		"    taskyard agent check -q --data ./data coder.md\n" +
		"Exit code 1: a definition is invalid. Runners come from the instance that --data names, or the one whose agents " +
		"folder contains the first file, or ./data.",

	"settings list": `
    taskyard settings`,
	"settings set": `
    taskyard settings set scheduler.cron "*/30 6-21 * * *"
    taskyard settings set runs.max_parallel 8
Needs a token of an admin. What a variable or a flag of the server sets is locked.`,
	"settings reset": `
    taskyard settings reset scheduler.cron runs.max_parallel`,
	"project list": `
    taskyard project list`,
	"project show": `
    taskyard project show web
    taskyard project show web --json > web.json`,
	"project add": `
    taskyard project add web --repository /srv/git/web.git --merge-into main \
      --check 'name=test,run=go test ./...,timeout=10m,required'
    taskyard project add docs --approvals 1 --reviewer maya --check 'name=changed,changed=docs/**,required'
    taskyard project add --file web.json
A check has a name and one of run=COMMAND, file=PATH, changed=PATTERN, or the word url; then timeout=TIME, required, network. ` +
		`Quote a part that holds a comma: '"run=echo a,b"'.`,
	"project edit": `
    taskyard project edit web --approvals 2 --reviewer maya --reviewer admin --expires 3d --stand-in ben
    taskyard project edit web --setup "npm ci" --merge-check 'name=all,run=make test,required'
    taskyard project edit web --file web.json
A list that is given replaces what there was. An empty value takes it off: --merge-into= no longer merges.`,
	"project archive": `
    taskyard project archive web`,
	"project restore": `
    taskyard project restore web`,
	"project examine": `
    taskyard project examine web`,
	"review list": `
    taskyard review list
    taskyard review list --json | jq -r '.reviews[].taskId'`,
	"review show": `
    taskyard review show 42
    taskyard review show 42 --result 1`,
	"review diff": `
    taskyard review diff 42 | less
    taskyard review diff 42 --since 1 --path main.go`,
	"review comment": `
    taskyard review comment 42 "Close the file" --path main.go --line 12-15
    taskyard review comment 42 "Why was this removed?" --path main.go --line 9 --old
` + textNote,
	"review submit": `
    taskyard review submit 42`,
	"review accept": `
    taskyard review accept 42 --digest 3f9c…
    taskyard review accept 42 --comment "Looks good"
Without --digest it accepts the newest result, which it prints first.`,
	"review request-changes": `
    taskyard review request-changes 42 "Please see the two comments"
    taskyard review request-changes 42 --file review.md
` + textNote,
	"review reply": `
    taskyard review reply 42 7 "It is closed by the caller" --state declined
    taskyard review reply 42 8 --state fixed
` + textNote,
	"merge list": `
    taskyard merge list --project web`,
	"run list": `
    taskyard run list --status failed --agent coder`,
	"run show": `
    taskyard run show 7`,
	"run transcript": `
    taskyard run transcript 7`,
	"run wait": `
    taskyard run wait 7 --timeout 10m`,
	"run approve": `
    taskyard run approve 7 --version 3f9c…
    taskyard run approve 7 --scope task --timeout 120`,
	"run deny": `
    taskyard run deny 7 --reason "Not on a Friday"
    taskyard run deny 7 1 --reason "Not that file"`,
	"run allow": `
    taskyard run allow 7 1
    taskyard run allow 7 1 --scope run`,
	"run cancel": `
    taskyard run cancel 7`,
	"run message": `
    taskyard run message 7 "Use tabs, not spaces"
    taskyard run message 7 - < notes.md`,
	"run retry": `
    taskyard run retry 7`,

	"delegate start": `
    taskyard delegate "Find every use of the old name" --agent code-focused --wait 50
    run=$(taskyard delegate --file job.md --quiet); taskyard delegate show "$run" --wait 50
` + textNote,
	"delegate show": `
    taskyard delegate show 7 --wait 50`,
	"delegate stop": `
    taskyard delegate stop 7 --reason "Found it myself"`,
	"inbox list": `
    taskyard inbox`,
	"inbox acknowledge": `
    taskyard inbox acknowledge 120`,
	"events": `
    taskyard events --limit 20
    taskyard events --follow
    taskyard events --follow --json | jq -r 'select(.kind == "run.failed") | .taskId'`,
	"usage": `
    taskyard usage
    taskyard usage --by agent --from 2026-01-01T00:00:00Z
    taskyard usage --by run --json | jq '.rows[0]'
A number after ≈ is partly an estimate by the runner. Days are UTC.`,
	"pause": `
    taskyard pause --reason "Release day"
    taskyard pause coder --reason "Wrong branch"`,
	"resume": `
    taskyard resume
    taskyard resume coder`,
	"stop-everything": `
    taskyard stop-everything --reason "It deletes the wrong files"`,
	"ping": `
    taskyard ping && echo "the server is ready"`,

	"whoami": `
    taskyard whoami`,
	"mcp": `
    taskyard mcp --profile core
Agents start it themselves, as one of their MCP servers.`,
	"completion": `
    source <(taskyard completion bash)
    source <(taskyard completion zsh)
    taskyard completion fish | source
Add the line for your shell to its startup file. Agents and tasks come from the server; they are left out if it does not answer.`,
}

// Examples returns the examples for a command's help, or "".
func Examples(path string) string {
	text := examples[path]
	if !strings.HasPrefix(text, "\n") {
		return text
	}
	// Make a remark a separate paragraph.
	return "Examples:\n" + lastExample().ReplaceAllString(text, "$1\n\n$2")
}

var lastExample = lazyregexp.New(`(?m)^(    .*)\n([^ \n])`)
