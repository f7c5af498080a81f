package supervise

// For tests outside of the package.
var (
	CurrentInstance = currentInstance
	ProcessFromPID  = processFromPID
	ProcessTree     = processTree
)

const (
	EnvRunID      = envRunID
	EnvInstanceID = envInstanceID
	OverflowName  = overflowName
)
