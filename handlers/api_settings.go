package handlers

import (
	"context"

	"taskyard/task"
)

type settingsOutBody struct {
	Settings []task.Setting `json:"settings" doc:"settings that can be changed while the server is running"`
}

type settingsIn struct {
	Body struct {
		Set   map[string]string `json:"set,omitempty" doc:"new values by key, as strings"`
		Reset []string          `json:"reset,omitempty" doc:"keys to remove from the file, so that their defaults apply"`
	}
}

func settingsAnswer(list []task.Setting, err error) (settingsOutBody, error) {
	return settingsOutBody{list}, err
}

func (s *Server) apiSettings(ctx context.Context, _ *struct{}) (settingsOutBody, error) {
	return settingsAnswer(s.svc.Settings(ctx, actorIn(ctx)))
}

func (s *Server) apiChangeSettings(ctx context.Context, in *settingsIn) (settingsOutBody, error) {
	values := map[string]*string{}
	for key, v := range in.Body.Set {
		values[key] = &v
	}
	for _, key := range in.Body.Reset {
		if _, twice := values[key]; twice {
			return settingsOutBody{}, task.FieldErrorf(key, "is in set and in reset: leave one out")
		}
		values[key] = nil
	}
	return settingsAnswer(s.svc.ChangeSettings(ctx, actorIn(ctx), values))
}
