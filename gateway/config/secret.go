package config

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/callgate/callgate/internal/digest"
)

const redacted = "[redacted]"

// Secret is text that must not be printed: whatever formats, logs or marshals it
// gets "[redacted]". Its zero value is empty. The text stands behind a pointer
// so that printing a struct that hides a Secret in an unexported field, where
// fmt calls no methods, gives no more than an address.
type Secret struct{ text *string }

// NewSecret keeps text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text itself.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// String implements fmt.Stringer.
func (s Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return redacted }

// Format implements fmt.Formatter, so that no verb, not even %x, shows the text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// HashKey returns what [Key] keeps of a bearer key: "sha256:" and 64 hex digits.
func HashKey(key string) string { return digest.Of([]byte(key)) }
