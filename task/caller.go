package task

import "context"

type callerKey struct{}

// WithActor passes the actor to what lies below a surface, such as an http.Handler of
// another package, who calls.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, callerKey{}, a)
}

// ActorIn returns the caller that WithActor put into a context; the zero Actor
// is nobody.
func ActorIn(ctx context.Context) Actor {
	a, _ := ctx.Value(callerKey{}).(Actor)
	return a
}

// Speaks checks that the caller may act under an agent's name: agents under
// their own alone, people and act-as tokens under any.
func (a Actor) Speaks(agent string) error {
	if !a.IsAgent() || a.Name == agent {
		return nil
	}
	return Errorf(Forbidden, CodeNotYourName, "agent %s may not act as %s", a.Name, agent)
}
