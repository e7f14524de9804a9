package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// readyCmd asks a gateway whether it is ready. An image that holds nothing but the gateway has no
// other program that could.
type readyCmd struct {
	URL     string        `help:"Base URL of the gateway." default:"http://127.0.0.1:8080" placeholder:"URL"`
	Timeout time.Duration `help:"How long to wait for an answer." default:"5s"`
}

// maxReady bounds what is read of an answer, in bytes; the gateway's own has some lines.
const maxReady = 4 << 10

// Run ends with status 0 if the gateway takes requests, and 1 if it does not or is not there.
func (r *readyCmd) Run(e *env) error {
	base, err := baseURL(r.URL, "http://127.0.0.1:8080")
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithTimeout(e.ctx, r.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("readyz").String(), nil)
	if err != nil {
		return usageError{err}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxReady))
	text := strings.TrimSpace(string(said))
	if resp.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("not ready: %s: %s", resp.Status, text), err)
	}
	_, err = fmt.Fprintln(e.stdout, text)
	return err
}

// baseURL reads the URL of a server as somebody has typed it. example is one for whoever has not.
func baseURL(text, example string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%q is not a URL such as %s", text, example)
	}
	return base, nil
}
