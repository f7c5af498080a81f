package views

import (
	"github.com/a-h/templ"

	"taskyard/task"
)

func currentPageIf(yes bool) templ.Attributes {
	if yes {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// roleText describes what a role may do.
func roleText(r task.Role) string {
	switch r {
	case task.RoleViewer:
		return "Viewer: sees everything, changes nothing"
	case task.RoleOperator:
		return "Operator: creates and changes tasks"
	case task.RoleReviewer:
		return "Reviewer: also decides approvals"
	case task.RoleAdmin:
		return "Admin: everything, including agents, people and tokens"
	}
	return string(r)
}
