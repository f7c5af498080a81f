package model

import "fmt"

// Provider is the API and address of models.
type Provider struct {
	API     string // openai (chat completions) or anthropic (messages)
	BaseURL string // "": that of the API's own company
	Key     string // "" for servers that require none
}

// Open returns the models of a provider, with retries after temporary failures.
// It makes no request. It returns an error if the API is unknown.
func Open(p Provider) (Model, error) {
	switch p.API {
	case "openai":
		return Retry(newOpenAI(p)), nil
	case "anthropic":
		return Retry(newAnthropic(p)), nil
	}
	return nil, fmt.Errorf("the API %q is unknown: valid are openai, anthropic", p.API)
}
