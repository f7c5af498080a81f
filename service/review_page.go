package service

import "taskyard/task"

// MayVote reports why the vote of the caller on a result would not count, nil
// where it would. Error: CodeForbidden.
func (s *Service) MayVote(a task.Actor, r *task.Result) error {
	if err := s.allowed(a, task.Decide); err != nil {
		return err
	}
	return mayDecide(a, r, s.Now())
}

// VotesMissing is how many people must still accept a result.
func VotesMissing(r *task.Result) int { return max(0, votesMissing(r)) }
