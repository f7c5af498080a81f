package db_test

import (
	"errors"
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

// A transaction caches the tokens and pauses that it has checked, and reads them
// again after it changes them or such a change is undone.
func TestATransactionSeesItsOwnAccessChanges(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	var token, person, hers task.ID
	write(t, d, func(tx *db.Tx) (err error) {
		person, err = tx.InsertUser("rita", task.RoleReviewer, "a hash")
		ok(t, err)
		own := task.Token{Name: "hers", Hint: "ty_her", Scope: "review", CreatedBy: "rita", UserID: person}
		hers, err = tx.InsertToken(own, []byte("another"))
		ok(t, err)
		token, err = tx.InsertToken(task.Token{Name: "one", Hint: "ty_one", Scope: "operate", CreatedBy: "maya"}, []byte("a sum"))
		return err
	})
	write(t, d, func(tx *db.Tx) error {
		state := func(when string, valid bool, pauses int) {
			t.Helper()
			for range 2 { // the second answer comes from the cache
				is, _, err := tx.TokenValid(token)
				ok(t, err)
				equal(t, when+": the token is valid", is, valid)
				list, err := tx.Pauses()
				ok(t, err)
				equal(t, when+": pauses", len(list), pauses)
			}
		}
		state("at first", true, 0)
		undone := errors.New("undone")
		err := tx.Nested(func() error {
			ok(t, tx.RevokeToken(token))
			ok(t, tx.InsertPause(task.Pause{Agent: "coder", By: "maya"}))
			state("in what is undone", false, 1)
			return undone
		})
		equal(t, "the error", err, undone)
		state("after it", true, 0)
		ok(t, tx.InsertPause(task.Pause{Agent: "coder", By: "maya"}))
		state("paused", true, 1)
		ok(t, tx.DeletePause("coder"))
		state("resumed", true, 0)
		ok(t, tx.RevokeToken(token))
		state("revoked", false, 0)
		for _, role := range []task.Role{task.RoleReviewer, task.RoleViewer} {
			ok(t, tx.SetRole(person, role))
			for range 2 {
				_, is, err := tx.TokenValid(hers)
				ok(t, err)
				equal(t, "the role of the person", is, role)
			}
		}
		return nil
	})
}
