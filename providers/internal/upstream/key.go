package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
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

// setHeader prepares what is set in every request, and notes what of it is secret.
func (p *Client) setHeader(c Config) error {
	p.header = http.Header{}
	if err := p.setKey(c.Key, c.KeyHeader); err != nil {
		return err
	}
	for name, value := range c.Headers {
		if !validName(name) || !validValue(value) {
			return fmt.Errorf("headers: %q is not a valid name, or its value holds a control character or white space at an end", name)
		}
		if http.CanonicalHeaderKey(name) == "Host" {
			p.hostHeader = value
			continue
		}
		p.header.Set(name, value)
		for word := range strings.FieldsSeq(value) {
			if isSecret(name) && len(word) >= minSecret {
				p.secrets = append(p.secrets, word)
			}
		}
	}
	// A secret that is part of another must not be replaced first.
	slices.SortFunc(p.secrets, func(a, b string) int { return len(b) - len(a) })
	return nil
}

func (p *Client) setKey(key, header string) error {
	switch {
	case key == "":
		return nil
	case !validValue(key):
		return errors.New("api_key: it holds a control character, or white space at an end")
	case header == "":
		p.header.Set("Authorization", "Bearer "+key)
	default:
		p.header.Set(header, key)
	}
	p.secrets = append(p.secrets, key)
	return nil
}

func validName(s string) bool {
	return s != "" && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func validValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// quotes says whether s holds a secret.
func (p *Client) quotes(s string) bool {
	return slices.ContainsFunc(p.secrets, func(secret string) bool { return strings.Contains(s, secret) })
}

// Redact replaces the client's secrets in s. An adapter calls it for what it quotes
// of an answer; [Client.Errorf] does it by itself.
func (p *Client) Redact(s string) string {
	for _, secret := range p.secrets {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	return s
}

// Safe is err as a cause that may be logged.
func (p *Client) Safe(err error) error {
	if text := err.Error(); p.quotes(text) {
		return errors.New(p.Redact(text))
	}
	return err
}
