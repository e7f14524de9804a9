package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/messages"
	"github.com/callgate/callgate/internal/digest"
)

// key is a client's key, as its hash.
type key struct {
	name string
	hash digest.Sum
}

func readKeys(hashes map[string]string) ([]key, error) {
	var keys []key
	for name, text := range hashes {
		hash, ok := digest.Parse(text)
		if !ok {
			return nil, fmt.Errorf("key %q: the hash must be \"sha256:\" and 64 hex digits", name)
		}
		keys = append(keys, key{name, hash})
	}
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.name, b.name) })
	return keys, nil
}

// clientKey is where authenticate leaves the name of the client's key.
const clientKey = "callgate.key"

// tenantOf is the name of the client's key, or "".
func tenantOf(c echo.Context) string {
	name, _ := c.Get(clientKey).(string)
	return name
}

// authenticate lets a request through that carries a known key.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if len(s.keys) == 0 {
			return next(c)
		}
		name, known := s.client(c.Request().Header, recordOf(c).form == messages.Form)
		if !known {
			c.Response().Header().Set("www-authenticate", "Bearer")
			return &gateway.Error{Kind: gateway.InvalidKey,
				Message: "No valid key: send one of this gateway's keys as \"Authorization: Bearer …\"."}
		}
		c.Set(clientKey, name)
		return next(c)
	}
}

// client is whose key a request carries. Clients of the Messages API have it in x-api-key, some of
// them in both headers: one that is not ours does no harm, two of ours that differ do not say who
// asks.
func (s *Server) client(h http.Header, anthropic bool) (name string, known bool) {
	scheme, token, _ := strings.Cut(h.Get(echo.HeaderAuthorization), " ")
	name, known = s.keyOf(token)
	known = known && strings.EqualFold(scheme, "Bearer")
	if !anthropic {
		return name, known
	}
	other, isOther := s.keyOf(h.Get("x-api-key"))
	switch {
	case known && isOther:
		return name, name == other
	case isOther:
		return other, true
	}
	return name, known
}

// keyOf is the name of a key. Every key is compared, in constant time, so that the time
// tells nothing.
func (s *Server) keyOf(token string) (name string, known bool) {
	hash := sha256.Sum256([]byte(token))
	for _, k := range s.keys {
		if subtle.ConstantTimeCompare(hash[:], k.hash[:]) == 1 {
			name, known = k.name, true
		}
	}
	return name, known
}
