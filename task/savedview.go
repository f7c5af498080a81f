package task

// Bounds of saved views.
const (
	MaxSavedViews = 50   // a person
	MaxViewName   = 60   // characters
	MaxViewPath   = 2000 // bytes
)

// SavedView is a filter of a list that a person keeps under a name.
type SavedView struct {
	ID        ID     `json:"id"`
	Name      string `json:"name" doc:"1 to 60 characters"`
	Path      string `json:"path" doc:"path and query of the page"`
	CreatedAt Time   `json:"createdAt"`
}
