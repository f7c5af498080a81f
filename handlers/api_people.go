package handlers

import (
	"context"

	"taskyard/service"
	"taskyard/task"
)

type usersOutBody struct {
	Users []task.User `json:"users"`
}

type newUserIn struct {
	Body struct {
		Name     string    `json:"name" doc:"1 to 40 characters"`
		Password string    `json:"password" doc:"12 to 512 characters"`
		Role     task.Role `json:"role" enum:"viewer,operator,reviewer,admin"`
	}
}

type newUserOut struct {
	Location string `header:"Location"`
	Body     task.User
}

type userPatchIn struct {
	ID   pathID `path:"id"`
	Body struct {
		Role     *task.Role `json:"role,omitempty" enum:"viewer,operator,reviewer,admin"`
		Disabled *bool      `json:"disabled,omitempty" doc:"true: can no longer sign in"`
		Password *string    `json:"password,omitempty" doc:"12 to 512 characters"`
	}
}

type tokensOutBody struct {
	Tokens []task.Token `json:"tokens"`
}

type newTokenIn struct {
	Body struct {
		Name  string `json:"name" doc:"what it is for, 1 to 60 characters"`
		Agent string `json:"agent,omitempty" doc:"agent id, for an agent's token"`
		Scope string `json:"scope,omitempty" doc:"for people and programs: read, operate, review or admin, optionally with act-as; or worker"`
		Days  int    `json:"days,omitempty" doc:"days until it expires: 1 to 3650; 0: the default; -1: never"`
		Own   bool   `json:"own,omitempty" doc:"true: a token of the caller's account, with at most its role"`
	}
}

type madeToken struct {
	task.Token
	Secret string `json:"secret" doc:"shown only once"`
}

type newTokenOut struct {
	Location string `header:"Location"`
	Body     madeToken
}

type idPath struct {
	ID pathID `path:"id"`
}

func (s *Server) apiUsers(ctx context.Context, _ *struct{}) (usersOutBody, error) {
	list, err := s.svc.Users(ctx, actorIn(ctx))
	return usersOutBody{list}, err
}

func (s *Server) apiUpdateUser(ctx context.Context, in *userPatchIn) (task.User, error) {
	return s.svc.UpdateUser(ctx, actorIn(ctx), in.ID.ID, service.UserChange(in.Body))
}

func (s *Server) apiTokens(ctx context.Context, _ *struct{}) (tokensOutBody, error) {
	list, err := s.svc.Tokens(ctx, actorIn(ctx))
	return tokensOutBody{list}, err
}

func (s *Server) apiRevokeToken(ctx context.Context, in *idPath) (*struct{}, error) {
	return nil, s.svc.RevokeToken(ctx, actorIn(ctx), in.ID.ID)
}

func (s *Server) apiAddUser(ctx context.Context, in *newUserIn) (*newUserOut, error) {
	// The key's record would contain an unsalted hash of a body with a
	// password. A repeated request fails anyway, because the name is in use.
	ctx = service.WithIdempotency(ctx, nil)
	u, err := s.svc.AddUser(ctx, actorIn(ctx), in.Body.Name, in.Body.Password, in.Body.Role)
	return &newUserOut{"/api/users/" + u.ID.String(), u}, err
}

func (s *Server) apiCreateToken(ctx context.Context, in *newTokenIn) (*newTokenOut, error) {
	made, err := s.svc.CreateToken(ctx, actorIn(ctx), service.NewToken(in.Body))
	return &newTokenOut{"/api/tokens/" + made.ID.String(), madeToken(made)}, err
}
