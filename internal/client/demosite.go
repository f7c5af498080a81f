package client

import (
	"fmt"
	"os"
	"strings"

	"taskyard/task"
)

const (
	demoHours = "hours.txt"
	someHours = "Opening hours\n\nMonday to Friday  7:00 to 18:00\nSaturday          7:00 to 13:00\n"
	allHours  = someHours + "Sunday            closed\n"
)

// playSite changes a file in the project's repository: it forgets a day, is
// corrected by the check, and answers review comments.
func (a *demoAgent) playSite() (string, error) {
	if a.task.Review != nil && len(a.task.Review.Comments) > 0 {
		return a.answerReview()
	}
	if a.task.Review != nil && a.task.Review.Result > 0 {
		a.say("Changes were requested, without a comment on a line. Saying more about holidays.")
		return a.handInSite(allHours + "Holidays          closed\n")
	}
	a.say("Writing the hours of the days into %s.", demoHours)
	if err := a.writeSite(someHours); err != nil {
		return "", err
	}
	_, err := a.complete("The opening hours are on the site.")
	if err == nil {
		return "Handed in.", nil
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	a.say("The check refused it: %s", reason)
	a.say("Sunday is missing. Adding it.")
	return a.handInSite(allHours)
}

// answerReview applies each comment to the file, and replies.
func (a *demoAgent) answerReview() (string, error) {
	text := allHours
	for _, c := range a.task.Review.Comments {
		text += "\n(" + strings.Join(strings.Fields(c.Text), " ") + ")\n"
	}
	if err := a.writeSite(text); err != nil {
		return "", err
	}
	for _, c := range a.task.Review.Comments {
		in := map[string]any{"state": task.CommentFixed, "text": "Taken up at the end of " + demoHours + "."}
		if err := a.call("reply_review", "POST", a.path("/review-comments/"+c.ID.String()+"/reply"), in, nil); err != nil {
			return "", err
		}
	}
	_, err := a.complete("The opening hours are on the site, with what the review asked for.")
	return "Answered the review and submitted again.", err
}

func (a *demoAgent) handInSite(text string) (string, error) {
	if err := a.writeSite(text); err != nil {
		return "", err
	}
	_, err := a.complete("The opening hours are on the site.")
	return "Submitted for review.", err
}

func (a *demoAgent) writeSite(text string) error {
	a.line("tool_call", "write", map[string]any{"tool": "write", "path": demoHours})
	if err := os.WriteFile(demoHours, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", demoHours, err)
	}
	a.line("tool_result", "ok", map[string]any{"tool": "write"})
	return nil
}
