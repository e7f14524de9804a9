package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/callgate/callgate/internal/redact"
)

// minSecret is the length from which a word of a secret header is kept out of
// messages. What is shorter is a scheme, such as Bearer.
const minSecret = 8

// isSecret says whether a header of this name holds a secret.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	parts := []string{"auth", "key", "token", "secret", "cookie", "password", "credential"}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// setHeader prepares what is set in every request, and notes what of it is secret. It returns the
// header Host, which is sent in another way.
func (x *headerRules) setHeader(c *Config) (host string, err error) {
	if err := x.setKey(c.Key, c.KeyHeader); err != nil {
		return "", err
	}
	secrets := []string{c.Key}
	for name, value := range c.Headers {
		if !validName(name) || !validValue(value) {
			return "", fmt.Errorf("headers: %q is not a valid name, or its value holds a control character or white space at an end", name)
		}
		if http.CanonicalHeaderKey(name) == "Host" {
			host = value
			continue
		}
		x.set.Set(name, value)
		for word := range strings.FieldsSeq(value) {
			if isSecret(name) && len(word) >= minSecret {
				secrets = append(secrets, word)
			}
		}
	}
	x.secrets = redact.New(secrets)
	return host, nil
}

func (x *headerRules) setKey(key, header string) error {
	switch {
	case key == "":
		return nil
	case !validValue(key):
		return errors.New("api_key: it holds a control character, or white space at an end")
	case header == "":
		x.set.Set("Authorization", "Bearer "+key)
	default:
		x.set.Set(header, key)
	}
	return nil
}

func validName(s string) bool {
	return s != "" && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func validValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// Redact replaces the client's secrets in s, in whatever form package redact knows. An
// adapter calls it for what it quotes of an answer; [Client.Errorf] does it by itself.
func (p *Client) Redact(s string) string { return p.headerRules.secrets.Out(s) }

// Safe is err as a cause that may be logged.
func (p *Client) Safe(err error) error {
	if text := err.Error(); p.headerRules.secrets.In(text) {
		return errors.New(p.Redact(text))
	}
	return err
}
