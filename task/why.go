package task

// Reason is one reason why a task is or is not running.
type Reason struct {
	Code    WhyCode `json:"code" enum:"archived,draft,permission,running,claimed,paused,approval,queued,no_worker,budget,review,merge,question,blocker_canceled,blocked,owner_missing,owner_invalid,pull_only,stuck,failed,wake_skipped,outside_window,next_tick,no_tick"`
	Message string  `json:"message" doc:"a sentence; times in it are UTC"`
	Task    ID      `json:"task,omitzero" doc:"the task that it is waiting for"`
	Run     ID      `json:"run,omitzero" doc:"the run that is waiting, is running or failed"`
	Until   Time    `json:"until,omitzero" doc:"when the reason may end by itself"`
}

// WhyCode names a reason.
type WhyCode string

// The reasons, in the order of the task's life; a list of them has the most
// decisive one first.
const (
	WhyArchived        WhyCode = "archived"         // done or canceled
	WhyDraft           WhyCode = "draft"            // nobody has started it
	WhyPermission      WhyCode = "permission"       // its run asks a reviewer before a tool call
	WhyRunning         WhyCode = "running"          // a run works on it
	WhyClaimed         WhyCode = "claimed"          // somebody works on it
	WhyPaused          WhyCode = "paused"           // the instance or its owner is paused
	WhyBudget          WhyCode = "budget"           // the budget of the day is used up
	WhyApproval        WhyCode = "approval"         // a run waits for a reviewer
	WhyQueued          WhyCode = "queued"           // a run waits for its place or its time
	WhyNoWorker        WhyCode = "no_worker"        // a run waits for a worker, and none has asked lately
	WhyReview          WhyCode = "review"           // people must decide on its result
	WhyMerge           WhyCode = "merge"            // its accepted result is in the merge queue
	WhyQuestion        WhyCode = "question"         // a person must answer
	WhyBlockerCanceled WhyCode = "blocker_canceled" // a person must decide
	WhyBlocked         WhyCode = "blocked"          // another task must be done first
	WhyOwnerMissing    WhyCode = "owner_missing"    // its agent is not defined
	WhyOwnerInvalid    WhyCode = "owner_invalid"    // its agent's definition is invalid
	WhyOwnerProject    WhyCode = "owner_project"    // its agent works only on other projects
	WhyPullOnly        WhyCode = "pull_only"        // its agent claims its work itself
	WhyStuck           WhyCode = "stuck"            // too many failures in a row
	WhyFailed          WhyCode = "failed"           // the last run failed; it is tried again
	WhyWakeSkipped     WhyCode = "wake_skipped"     // a wake started no run: the task had too many
	WhyOutsideWindow   WhyCode = "outside_window"   // ticks rest, as over night
	WhyNextTick        WhyCode = "next_tick"        // the next tick makes a run
	WhyNoTick          WhyCode = "no_tick"          // no tick is planned
)
