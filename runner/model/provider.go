package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/sashabaranov/go-openai"
)

// Provider is where models are.
type Provider struct {
	API     string // openai (chat completions) or anthropic (messages)
	BaseURL string // "" means that of the API's own company
	Key     string // "" for servers that want none
}

// Open returns the models of a provider, which are asked again after failures
// that may pass. Nothing is sent. The error says that the API is unknown.
func Open(p Provider) (Model, error) {
	switch p.API {
	case "openai":
		return Retry(newOpenAI(p)), nil
	case "anthropic":
		return Retry(newAnthropic(p)), nil
	}
	return nil, fmt.Errorf("the API %q is unknown: valid are openai, anthropic", p.API)
}

// isTransport reports whether an error is of the network and not of a library.
func isTransport(err error) bool {
	var u *url.Error
	return errors.As(err, &u)
}

// isSenseless reports whether an error says that the answer made no sense.
func isSenseless(err error) bool {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &typ) || errors.Is(err, errTooMuch) || errors.Is(err, errNoStream) || errors.Is(err, errRedirect) ||
		errors.Is(err, openai.ErrTooManyEmptyStreamMessages)
}
