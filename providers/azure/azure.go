// Package azure is the provider for Azure OpenAI (Azure AI Foundry), after
// Microsoft's "Azure OpenAI in Foundry Models REST API reference". The wire is
// OpenAI's; address, key and version are Azure's own:
//
//	{endpoint}/openai/deployments/{deployment}/chat/completions?api-version=2024-10-21
//	{endpoint}/openai/v1/chat/completions
//	{endpoint}/openai/responses?api-version=2025-04-01-preview
//	{endpoint}/openai/v1/responses
//
// The first is the dated API. The second is the v1 API, which has no dates and takes
// the deployment from the request's model. In both the deployment is the target's
// model, which the Responses API always has in the request. What Azure adds to answers (a first chunk without choices, the content
// filter's results, innererror) passes through.
//
// A provider here lists no models: Azure's list has the models that a resource could
// deploy, and no deployment.
package azure

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
)

// DefaultAPIVersion is the newest dated version that is not a preview.
const DefaultAPIVersion = "2024-10-21"

// V1 is the version that stands for the v1 API. "preview" is the v1 API with its
// preview features.
const (
	V1      = "v1"
	preview = "preview"
)

// Provider asks one resource: an [openai.Provider] without its list of models. It is safe
// for concurrent use.
type Provider struct {
	adapter
	gateway.Relayer
}

type adapter interface {
	gateway.Provider
	gateway.Needer
	gateway.Failer
	gateway.Redactor
	CloseIdleConnections()
}

// New returns a provider, or an error that says which field of c is wrong and never
// quotes a secret. What the wire is c need not say.
//
// BaseURL is the resource's endpoint, such as "https://NAME.openai.azure.com". One that ends
// in "/openai/v1", as the v1 API is written in Azure's documentation, stands for the version
// V1. APIKey is sent in the header api-key; a token of Microsoft Entra ID goes into Headers
// instead, as "Authorization: Bearer …". With c.Responses a client of the Responses API gets its own request
// there. apiVersion is a date such as "2025-04-01-preview",
// V1 or "preview"; empty means DefaultAPIVersion.
func New(c openai.Config, apiVersion string) (*Provider, error) {
	var err error
	if c.BaseURL, c.ChatPath, err = address(c.BaseURL, apiVersion); err != nil {
		return nil, err
	}
	if c.Responses {
		if c.ResponsesPath, err = responsesPath(c.ChatPath, cmp.Or(apiVersion, DefaultAPIVersion)); err != nil {
			return nil, err
		}
	}
	c.KeyHeader, c.Needs = "Api-Key", openai.OwnNeeds()
	p, err := openai.New(c)
	if err != nil {
		return nil, err
	}
	return &Provider{p, p}, nil
}

// FirstResponses is the first dated version that has the Responses API.
const FirstResponses = "2025-03-01-preview"

// responsesPath is the path of the Responses API of the API whose path of chat completions is chat.
func responsesPath(chat, version string) (string, error) {
	if before, ok := strings.CutSuffix(chat, "v1/chat/completions"); ok {
		return before + "v1/responses", nil
	}
	if version < FirstResponses[:len("2025-03-01")] {
		return "", fmt.Errorf("api_version: %s has no Responses API; write %q, %q or later, or leave responses: native out", version, V1, FirstResponses)
	}
	return "openai/responses", nil
}

// address is the base URL with the version, and the path of chat completions.
func address(baseURL, version string) (base, path string, err error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", "", errors.New("base_url: not a URL") // the error would quote it
	}
	path, v1 := strings.CutSuffix(strings.TrimRight(u.Path, "/"), "/openai/v1")
	if v1 {
		if version != "" && version != V1 && version != preview {
			return "", "", fmt.Errorf("api_version: base_url ends in /openai/v1, which has no version %q", version)
		}
		u.Path, u.RawPath, version = path, "", cmp.Or(version, V1)
	}
	version = cmp.Or(version, DefaultAPIVersion)
	if version != V1 && version != preview && !regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-preview)?$`).MatchString(version) {
		return "", "", fmt.Errorf("api_version: %q is not a date such as %q, nor %q or %q", version, DefaultAPIVersion, V1, preview)
	}
	query := u.Query()
	if version != V1 {
		query.Set("api-version", version)
	}
	u.RawQuery = query.Encode()
	if version == V1 || version == preview {
		return u.String(), "openai/v1/chat/completions", nil
	}
	return u.String(), "openai/deployments/{model}/chat/completions", nil
}
