package app

import (
	"context"
	"time"
)

// agentsPoll is how often a server looks for definitions changed by another
// one, in case a notification was lost.
const agentsPoll = 5 * time.Second

// followAgents keeps the agents folder in sync with the database until ctx
// ends, if several servers share the database.
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
		case <-poll.C:
		}
		in.syncAgents(ctx, in.Service.FollowAgents)
	}
}

// agentsChanged handles a change of the agents folder.
func (in *Instance) agentsChanged(ctx context.Context, ids []string) {
	in.Service.AgentsChanged(ids)
	in.syncAgents(ctx, in.Service.SyncAgents)
	in.revokeRemoved(ctx)
}

// syncAgents synchronizes the agents folder with the database. followAgents
// retries after an error.
func (in *Instance) syncAgents(ctx context.Context, compare func(context.Context) error) {
	if err := compare(ctx); err != nil && ctx.Err() == nil {
		in.opt.Log.Error("failed to synchronize the agents folder with the database", "error", err)
	}
}
