package task

// Server is one of the servers that share a database.
type Server struct {
	ID        string // of its data folder
	Version   string
	Address   string // on which it listens
	StartedAt Time
	SeenAt    Time
	Leads     bool // it does what is done once
	This      bool // it is the one that answers
}

// Process names the process of a server: a new one is there after each start.
func (s Server) Process() string { return s.ID + " " + s.StartedAt.String() }
