// Package azure is the provider for Azure OpenAI (Azure AI Foundry), after
// Microsoft's "Azure OpenAI in Foundry Models REST API reference". The wire is
// OpenAI's; address, key and version are Azure's own:
//
//	{endpoint}/openai/deployments/{deployment}/chat/completions?api-version=2024-10-21
//	{endpoint}/openai/v1/chat/completions
//
// The first is the dated API. The second is the v1 API, which has no dates and takes
// the deployment from the request's model. In both the deployment is the target's
// model. What Azure adds to answers (a first chunk without choices, the content
// filter's results, innererror) passes through.
//
// A provider here lists no models: Azure's list has the models that a resource could
// deploy, and no deployment.
package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

// Config says which resource of Azure to ask.
type Config struct {
	// Name is the provider's name in messages. Empty means the resource's host.
	Name string
	// BaseURL is the resource's endpoint, such as "https://NAME.openai.azure.com". One
	// that ends in "/openai/v1", as the v1 API is written in Azure's documentation,
	// stands for APIVersion V1.
	BaseURL string
	// APIKey is sent in the header api-key. A token of Microsoft Entra ID goes into
	// Headers instead, as "Authorization: Bearer …".
	APIKey string
	// APIVersion is a date such as "2025-04-01-preview", V1 or "preview". Empty means
	// DefaultAPIVersion.
	APIVersion string
	// Headers are set in every request, over all others.
	Headers map[string]string

	Timeouts openai.Timeouts
	// MaxResponse is the limit in bytes on an answer; 0 means
	// [openai.DefaultMaxResponse].
	MaxResponse int64
	// Transport sends the requests. Nil means one of the provider's own.
	Transport http.RoundTripper
}

// Provider asks one resource. It is safe for concurrent use.
type Provider struct{ wire *openai.Provider }

var (
	_ gateway.Provider = (*Provider)(nil)
	_ gateway.Needer   = (*Provider)(nil)
	_ gateway.Failer   = (*Provider)(nil)
)

// New returns a provider, or an error that says which field of c is wrong and never
// quotes a secret.
func New(c Config) (*Provider, error) {
	base, path, err := c.address()
	if err != nil {
		return nil, err
	}
	wire, err := openai.New(openai.Config{
		Name: c.Name, BaseURL: base, ChatPath: path, APIKey: c.APIKey, KeyHeader: "Api-Key", Headers: c.Headers,
		Needs: openai.OwnNeeds(), Timeouts: c.Timeouts, MaxResponse: c.MaxResponse, Transport: c.Transport,
	})
	if err != nil {
		return nil, err
	}
	return &Provider{wire}, nil
}

// address is the base URL with the version, and the path of chat completions.
func (c Config) address() (base, path string, err error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return "", "", errors.New("base_url: not a URL") // the error would quote it
	}
	version := c.APIVersion
	path, v1 := strings.CutSuffix(strings.TrimRight(u.Path, "/"), "/openai/v1")
	if v1 {
		if version != "" && version != V1 && version != preview {
			return "", "", fmt.Errorf("api_version: base_url ends in /openai/v1, which has no version %q", version)
		}
		u.Path, u.RawPath = path, ""
		if version == "" {
			version = V1
		}
	}
	if version == "" {
		version = DefaultAPIVersion
	}
	if !validVersion(version) {
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

// validVersion says whether s is of a form that Azure's versions have.
func validVersion(s string) bool {
	return s == V1 || s == preview || regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-preview)?$`).MatchString(s)
}

// Chat implements [gateway.Provider]; model is the name of the deployment.
func (p *Provider) Chat(ctx context.Context, model string, req *gateway.Request) (gateway.Reply, error) {
	return p.wire.Chat(ctx, model, req)
}

// Needs implements [gateway.Needer]: Azure checks what OpenAI checks.
func (p *Provider) Needs() gateway.Needs { return p.wire.Needs() }

// CloseIdleConnections closes the connections that no request is using. A provider
// that is no longer needed would else keep them for a while.
func (p *Provider) CloseIdleConnections() { p.wire.CloseIdleConnections() }

// Redact implements [gateway.Redactor].
func (p *Provider) Redact(s string) string { return p.wire.Redact(s) }

// Failure implements [gateway.Failer].
func (p *Provider) Failure(h http.Header, data []byte) *gateway.Error { return p.wire.Failure(h, data) }
