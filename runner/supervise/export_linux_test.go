package supervise

// What the tests outside of the package look at.
var (
	CurrentInstance = currentInstance
	ProcessOf       = processOf
	TreeOf          = treeOf
)

const (
	EnvRunID      = envRunID
	EnvInstanceID = envInstanceID
	OverflowName  = overflowName
)
