package task

// phaseTexts say of a phase what the status of its run leaves open.
var phaseTexts = map[State]string{
	{RunPending, PhaseApproval}:   "needs approval",
	{RunPending, PhaseQueued}:     "queued",
	{RunRunning, PhaseStarting}:   "starting",
	{RunRunning, PhasePermission}: "asks for permission",
	{RunRunning, PhaseCondensing}: "writing its summary",

	{RunFailed, PhaseError}:      "the program ended with an error",
	{RunFailed, PhaseTimeout}:    "over its time limit",
	{RunFailed, PhaseIdle}:       "no progress",
	{RunFailed, PhaseTokens}:     "over its token limit",
	{RunFailed, PhaseCost}:       "over its cost limit",
	{RunFailed, PhaseTurns}:      "over its turn limit",
	{RunFailed, PhaseCrash}:      "the program crashed",
	{RunFailed, PhaseProtocol}:   "the program broke its protocol",
	{RunFailed, PhasePermission}: "permission refused",
	{RunFailed, PhaseAuth}:       "credentials refused",
	{RunFailed, PhaseLost}:       "the server stopped",

	{RunCanceled, PhaseDenied}:     "rejected",
	{RunCanceled, PhaseExpired}:    "nobody decided in time",
	{RunCanceled, PhaseTaskClosed}: "task closed",
	{RunCanceled, PhaseShutdown}:   "the server shut down",
}

// Automatic reports whether a run was created because the previous one failed,
// not because someone requested it.
func (r *Run) Automatic() bool { return r.Cause == CauseRetry && r.AskedBy == System && r.RetryOf != 0 }

// Text is the state for people: its status, and its phase where that adds
// something, such as "failed: no progress" or "completed".
func (s State) Text() string {
	if t := phaseTexts[s]; t != "" {
		return string(s.Status) + ": " + t
	}
	return string(s.Status)
}
