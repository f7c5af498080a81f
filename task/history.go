package task

// HitPlace says in which text of a task a search matched.
type HitPlace string

// The texts of a task that are searched, besides its title.
const (
	HitDescription HitPlace = "description"
	HitSummary     HitPlace = "summary"
	HitComment     HitPlace = "comment"
	HitRun         HitPlace = "run"        // the summary of a run
	HitTranscript  HitPlace = "transcript" // a line of a run's transcript
)

// Hit is the best match of a search in a task. Title is always set; Place is ""
// if the words appear only in the title.
type Hit struct {
	Title   []Span
	Place   HitPlace
	By      string // who wrote it: of comments
	Message ID     // the comment, or the line of a transcript
	Run     ID
	Text    []Span // of about 160 bytes
}

// HistoryTime counts the tasks archived in a period, and the runs that failed
// in it.
type HistoryTime struct {
	Start    Time
	Done     int
	Canceled int
	Failed   int
}

// HistoryTimes are the times of a chart, in order, without gaps.
type HistoryTimes struct {
	Times []HistoryTime
	Unit  string // UnitDay to UnitYear
	End   Time   // of the last
	Runs  bool   // failed runs are counted: the filter narrows nothing that runs have not
	Cut   bool   // only the newest were counted
}

// HitText is a text that a search may have matched.
type HitText struct {
	Place   HitPlace
	By      string
	Message ID
	Run     ID
	Text    string
}
