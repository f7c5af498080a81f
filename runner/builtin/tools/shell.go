package tools

import "taskyard/runner/confine"

// ShellLevel is the required confinement of bash.
type ShellLevel string

// The levels.
const (
	ShellAuto       ShellLevel = ""           // landlock, else bubblewrap, else not at all
	ShellLandlock   ShellLevel = "landlock"   // this or not at all
	ShellBubblewrap ShellLevel = "bubblewrap" // this or not at all
	ShellOff        ShellLevel = "off"        // bash is not available
)

// ToolShellArg is the first argument that makes the server's binary the keeper
// of one command of bash. It is not for people.
const ToolShellArg = "__toolshell"

// kernel describes what a machine can enforce.
type kernel struct {
	confine.Kernel
	bwrap string // path of bubblewrap, "" if it is missing or does not work
}

// job is what a keeper reads from its file descriptor 3, as JSON. When that
// pipe is closed, the keeper ends the command.
type job struct {
	Argv      []string `json:"argv"`
	Dir       string   `json:"dir"`
	Landlock  int      `json:"landlock"` // version to enforce; 0: none
	Seccomp   bool     `json:"seccomp"`  // filter system calls
	Broker    bool     `json:"broker"`   // with Seccomp: the keeper changes modes and times, below Writable
	Bwrap     bool     `json:"bwrap"`    // Argv is that of bubblewrap, which installs the filter itself
	Network   bool     `json:"network"`  // network access is allowed
	Writable  []string `json:"writable"`
	Readable  []string `json:"readable"`
	Processes int      `json:"processes"` // at the same time
	Mark      string   `json:"mark"`      // NAME=value that only the processes of this command have in their environment
}

// The limits of a command, for each of its processes except the first.
const (
	maxProcesses = 512
	maxMemory    = 4 << 30 // bytes of data
	maxFileSize  = 1 << 30 // bytes of a file
	maxOpenFiles = 4096
)
