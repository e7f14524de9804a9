package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/callgate/callgate/internal/plaintext"
)

// operator says which running gateway a command asks, as its operator. The variable is not
// CALLGATE_ADMIN: that is the address which serve listens on.
type operator struct {
	Admin    string `help:"URL of the gateway's admin listener." default:"http://127.0.0.1:8081" env:"CALLGATE_ADMIN_URL" placeholder:"URL"`
	AdminKey string `help:"The operator's key (admin.key_hash); pass it in the environment, where other users of the machine do not see it." env:"CALLGATE_ADMIN_KEY" placeholder:"KEY"`
}

// operatorFlags are those of commands that print one answer.
type operatorFlags struct {
	operator
	JSON bool `name:"json" help:"Print the gateway's own answer."`
}

const (
	operatorTime   = time.Minute
	operatorAnswer = 64 << 20
)

// errLargeAnswer is for an answer that is larger than operatorAnswer.
var errLargeAnswer = errors.New("the gateway's answer is larger than 64 MiB")

// ask sends a request to the admin listener, and reads the answer into what is not nil. With JSON it is
// printed as it came.
func (o operatorFlags) ask(e *env, method, path string, body, into any) error {
	answer, _, err := o.send(e, method, path, body)
	if err != nil {
		return err
	}
	var pretty bytes.Buffer
	if o.JSON && len(answer) > 0 && json.Indent(&pretty, answer, "", "  ") == nil {
		fmt.Fprintln(e.stdout, string(bytes.TrimSpace(pretty.Bytes())))
	}
	if into == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("what answers at %s is no admin listener of this gateway: %w", o.Admin, err)
	}
	return nil
}

// send sends a request to the admin listener, and returns the body and the header of its answer. What the gateway
// says against a request is a *refusedError.
func (o operator) send(e *env, method, path string, body any) ([]byte, http.Header, error) {
	r, err := o.request(e, method, path, body)
	if err != nil {
		return nil, nil, err
	}
	client := &http.Client{Timeout: operatorTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		return nil, nil, fmt.Errorf("no gateway answers at %s (--admin, CALLGATE_ADMIN_URL): %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, operatorAnswer+1))
	if err == nil && len(answer) > operatorAnswer {
		return nil, nil, errLargeAnswer
	}
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = refusalOf(resp.StatusCode, answer)
	}
	return answer, resp.Header, err
}

// request is a request to the admin listener.
func (o operator) request(e *env, method, path string, body any) (*http.Request, error) {
	base, err := url.Parse(o.Admin)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, usageError{fmt.Errorf("--admin: %q is no URL; write for example http://127.0.0.1:8081", o.Admin)}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if body == nil {
		text = nil
	}
	r, err := http.NewRequestWithContext(e.ctx, method, base.Scheme+"://"+base.Host+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("content-type", "application/json")
	}
	if o.AdminKey != "" {
		r.Header.Set("authorization", "Bearer "+o.AdminKey)
	}
	return r, nil
}

// refusedError is what the gateway says against a request.
type refusedError struct {
	status  int
	message string
}

func (e *refusedError) Error() string { return e.message }

// refusalOf is what the gateway says against a request.
func refusalOf(status int, answer []byte) error {
	var refusal struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(answer, &refusal) != nil || refusal.Error.Message == "" {
		return fmt.Errorf("the gateway answered with status %d: %s", status, plaintext.Excerpt(plaintext.Line(string(answer)), 200)) //nolint:mnd // enough to see who answers
	}
	return &refusedError{status, plaintext.Line(refusal.Error.Message)}
}
