package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/callgate/callgate/examples/adstudio/ads"
)

// App is where drafts are kept: the app that users see.
type App interface {
	State(ctx context.Context, id string) (ads.State, error)
	Draft(ctx context.Context, id string, d ads.Draft) (ads.Draft, error)
}

// Remote is an app behind its API.
type Remote struct {
	URL    string // without a slash at its end
	Client *http.Client
}

var _ App = Remote{}

// State implements [App].
func (r Remote) State(ctx context.Context, id string) (s ads.State, err error) {
	return s, r.ask(ctx, http.MethodGet, id, "", nil, &s)
}

// Draft implements [App].
func (r Remote) Draft(ctx context.Context, id string, d ads.Draft) (made ads.Draft, err error) {
	return made, r.ask(ctx, http.MethodPost, id, "/drafts", d, &made)
}

// ask sends a request to the app. What the app refuses is an [ads.Error]; so is an app that
// does not answer.
func (r Remote) ask(ctx context.Context, method, id, path string, in, out any) error {
	const largest = 1 << 20
	var body io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL+"/api/ads/"+url.PathEscape(id)+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.Client.Do(req)
	if err != nil {
		return &ads.Error{Type: "unavailable", Message: "The studio does not answer, so the ad could not be read or changed.", Hint: "Try once more, then tell the user."}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, largest))
	if err != nil {
		return &ads.Error{Type: "unavailable", Message: "The studio's answer broke off.", Hint: "Read the state before you draft again."}
	}
	if resp.StatusCode >= http.StatusBadRequest {
		refused := struct{ Error *ads.Error }{}
		if json.Unmarshal(text, &refused) != nil || refused.Error == nil || refused.Error.Message == "" {
			return &ads.Error{Type: "unavailable", Message: "The studio could not do that: " + resp.Status + "."}
		}
		return refused.Error
	}
	return json.Unmarshal(text, out)
}
