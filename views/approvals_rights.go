package views

import (
	"cmp"
	"strconv"
	"strings"

	"taskyard/task"
	"taskyard/views/ui"
)

// approvalAbility describes what a run can do: what it requests if its runner
// enforces that, otherwise that it can do more. Danger is 4 if it can.
func approvalAbility(d *ApprovalDetail) Ability {
	gaps := task.Unenforced(d.Enforced)
	if len(gaps) == 0 {
		return abilityFromSpec(d.spec(), d.Agent)
	}
	names := make([]string, len(gaps))
	for i, e := range gaps {
		names[i] = strings.ToLower(enforcedName(e.What))
	}
	return Ability{4, "This run could do more than it asks for.", " The runner " + cmp.Or(d.spec().Runner, "of this agent") +
		" does not fully enforce: " + joinList(names, "and") + "."}
}

// enforcedNames are the names of what can be enforced besides tools.
var enforcedNames = map[string]string{
	"files": "Files", "network": "Network", "timeout": "Time limit", "idleTimeout": "Idle limit",
	"maxTokens": "Token limit", "maxTurns": "Turn limit", "maxCostUsd": "Cost limit",
}

func enforcedName(what string) string { return cmp.Or(enforcedNames[what], what) }

// mergeEnforcement merges entries that differ only in their names, which it lists.
func mergeEnforcement(list []task.Enforcement) (rows []task.Enforcement) {
	at := map[task.Enforcement]int{}
	for _, e := range list {
		key := e
		key.What = ""
		if i, ok := at[key]; ok {
			rows[i].What += ", " + enforcedName(e.What)
			continue
		}
		at[key] = len(rows)
		e.What = enforcedName(e.What)
		rows = append(rows, e)
	}
	return rows
}

// askedText returns what is requested, with limits formatted as on other pages:
// "900 s" as 15m, "50000" as 50,000, "1.50 USD" as $1.50.
func askedText(e task.Enforcement) string {
	value, unit, _ := strings.Cut(e.Asked, " ")
	n, err := strconv.Atoi(value)
	switch {
	case e.Level == task.NotAsked && e.Asked == "none":
		return "no limit"
	case err == nil && unit == "s":
		return ui.LimitSpan(n)
	case err == nil && unit == "":
		return Thousands(n)
	}
	if usd, err := strconv.ParseFloat(value, 64); err == nil && unit == "USD" {
		return ui.Money(usd)
	}
	return e.Asked
}
