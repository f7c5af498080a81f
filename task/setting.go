package task

// Setting is a key of the configuration that can be changed while the server
// runs. Values are text, as variables and flags of the server give them.
type Setting struct {
	Key     string   `json:"key" doc:"as in taskyard.toml, such as runs.timeout"`
	About   string   `json:"about" doc:"what it is"`
	Value   string   `json:"value"`
	Default string   `json:"default"`
	Source  string   `json:"source" doc:"default, a line of the file, a variable or a flag"`
	Locked  string   `json:"locked,omitempty" doc:"why it cannot be changed here; absent: it can"`
	Choices []string `json:"choices,omitempty" doc:"the only values that are valid; absent: there are others"`
}
