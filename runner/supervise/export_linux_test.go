package supervise

// What the tests outside of the package look at.
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
