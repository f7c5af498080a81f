package app

import (
	"context"
	"time"
)

// agentsPoll is how often a server looks for definitions that another one changed,
// where it was not told.
const agentsPoll = 5 * time.Second

// followAgents has the agents folder follow the database until ctx ends, where
// several servers share that.
func (in *Instance) followAgents(ctx context.Context) {
	if !in.DB.Shared() {
		return
	}
	sub := in.Service.Hub().Subscribe("agents")
	defer sub.Close()
	poll := time.NewTicker(agentsPoll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sub.Done():
			return
		case <-sub.C:
			sub.Take()
		case <-poll.C:
		}
		in.syncAgents(ctx, in.Service.FollowAgents)
	}
}

// agentsChanged does what follows from a change of the agents folder.
func (in *Instance) agentsChanged(ctx context.Context, ids []string) {
	in.Service.AgentsChanged(ids)
	in.syncAgents(ctx, in.Service.SyncAgents)
	in.revokeRemoved(ctx)
}

// syncAgents compares the agents folder with the database. What could not be done
// is tried again by followAgents.
func (in *Instance) syncAgents(ctx context.Context, compare func(context.Context) error) {
	if err := compare(ctx); err != nil && ctx.Err() == nil {
		in.opt.Log.Error("agents folder and database differ", "error", err)
	}
}
