package task

// AgentTemplate is a text with which a new definition may begin.
type AgentTemplate struct {
	Key   string // names it in an address
	Title string
	About string // what it is for, as a sentence
	ID    string // a file name that suits it, or ""
	Text  string
}
