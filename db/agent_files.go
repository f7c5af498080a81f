package db

// AgentFile is the definition of an agent when several servers share the database.
type AgentFile struct {
	Agent   string
	Hash    string // of the text, which Definition returns; "" where the agent was removed or never defined
	Version int64  // grows with each change of any agent
}

// AgentFiles returns the definitions of all agents, removed ones included.
func (rx *Rx) AgentFiles() ([]AgentFile, error) {
	rows := rx.query("SELECT agent, coalesce(hash, ''), version FROM agent_files ORDER BY agent")
	return collect(rows, func(r rowScanner) (f AgentFile, err error) { return f, r.Scan(&f.Agent, &f.Hash, &f.Version) })
}

// AgentFile returns the definition of one agent.
func (rx *Rx) AgentFile(agent string) (AgentFile, error) {
	f := AgentFile{Agent: agent}
	_, err := optional(rx.row("SELECT coalesce(hash, ''), version FROM agent_files WHERE agent = ?", agent).Scan(&f.Hash, &f.Version))
	return f, err
}

// AgentFilesVersion returns the version of the newest change, 0 where there was
// none.
func (rx *Rx) AgentFilesVersion() (version int64, err error) {
	return version, rx.row("SELECT coalesce(max(version), 0) FROM agent_files").Scan(&version)
}

// SetAgentFile defines an agent by the text with a hash, which SaveDefinition
// has stored, or by none where it is "".
func (tx *Tx) SetAgentFile(agent, hash string) error {
	return tx.do("INSERT INTO agent_files (agent, hash, version, changed_at) "+
		"SELECT ?1, nullif(?2, ''), coalesce(max(version), 0) + 1, ?3 FROM agent_files WHERE TRUE "+
		"ON CONFLICT (agent) DO UPDATE SET hash = excluded.hash, version = excluded.version, changed_at = excluded.changed_at",
		agent, hash, tx.Now)
}
