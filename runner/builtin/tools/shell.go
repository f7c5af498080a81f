package tools

import "taskyard/runner/confine"

// ShellLevel says how bash is to be confined.
type ShellLevel string

// The levels.
const (
	ShellAuto       ShellLevel = ""           // landlock, else bubblewrap, else not at all
	ShellLandlock   ShellLevel = "landlock"   // this or not at all
	ShellBubblewrap ShellLevel = "bubblewrap" // this or not at all
	ShellOff        ShellLevel = "off"        // bash is refused
)

// ToolShellArg is the first argument that makes the server's binary the keeper
// of one command of bash. It is not for people.
const ToolShellArg = "__toolshell"

// kernel is what a machine can enforce.
type kernel struct {
	confine.Kernel
	bwrap string // the file of bubblewrap, "" when it is missing or does not work
}

// job is what a keeper is told on its file descriptor 3, as JSON. The end of
// that pipe asks it to end the command.
type job struct {
	Argv      []string `json:"argv"`
	Dir       string   `json:"dir"`
	Landlock  int      `json:"landlock"` // version to enforce; 0: none
	Seccomp   bool     `json:"seccomp"`  // filter system calls
	Broker    bool     `json:"broker"`   // with Seccomp: modes and times are changed by the keeper, below Writable
	Bwrap     bool     `json:"bwrap"`    // Argv is that of bubblewrap, which filters by itself
	Network   bool     `json:"network"`  // it may be used
	Writable  []string `json:"writable"`
	Readable  []string `json:"readable"`
	Processes int      `json:"processes"` // at one time
	Mark      string   `json:"mark"`      // NAME=value in the environment of the processes of this command only
}

// The limits of a command, for each of its processes but the first.
const (
	maxProcesses = 512
	maxMemory    = 4 << 30 // bytes of data
	maxFileSize  = 1 << 30 // bytes of a file
	maxOpenFiles = 4096
)
