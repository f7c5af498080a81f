package model

import "fmt"

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
