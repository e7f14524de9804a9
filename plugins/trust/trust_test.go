package trust_test

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/callgate/callgate/plugins/trust"
)

func keyPair(t *testing.T) (public string, private minisign.PrivateKey) {
	t.Helper()
	pub, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pub.String(), private
}

func TestCheck(t *testing.T) {
	t.Parallel()
	mine, sign := keyPair(t)
	_, stranger := keyPair(t)
	wasm, other := []byte("\x00asm mine"), []byte("\x00asm other")
	good, foreign := minisign.Sign(sign, wasm), minisign.Sign(stranger, wasm)
	pin := fmt.Sprintf("sha256:%x", sha256.Sum256(wasm))
	const none = ""
	tests := []struct {
		name      string
		require   trust.Require
		pins      map[string]string
		keys      []string
		wasm, sig []byte
		want      string // in the error
	}{
		{"nothing asked", trust.Nothing, nil, nil, wasm, nil, none},
		{"a signature that nobody can check", trust.Nothing, nil, nil, wasm, foreign, none},
		{"a wrong signature counts in any case", trust.Nothing, nil, []string{mine}, wasm, foreign, "not a signature of it"},
		{"a signature of another file", trust.Nothing, nil, []string{mine}, other, good, "not a signature of it"},
		{"a signature that is none", trust.Nothing, nil, []string{mine}, wasm, []byte("text"), "not a signature of it"},
		{"an empty signature", trust.Signature, nil, []string{mine}, wasm, []byte{}, "not a signature of it"},
		{"a wrong pin counts in any case", trust.Nothing, map[string]string{"x.wasm": pin}, nil, other, nil, "and plugins.pins has"},
		{"pinned", trust.Pin, map[string]string{"x.wasm": pin}, nil, wasm, nil, none},
		{"the pin of another file", trust.Pin, map[string]string{"y.wasm": pin}, nil, wasm, nil, `it has no pin (plugins.require is pin); if you know it, add it to plugins.pins: {x.wasm: "` + pin + `"}`},
		{"signed is not pinned", trust.Pin, nil, []string{mine}, wasm, good, "it has no pin"},
		{"signed", trust.Signature, nil, []string{mine}, wasm, good, none},
		{"signed by the second key", trust.Signature, nil, []string{keyOf(t), mine}, wasm, good, none},
		{"pinned is not signed", trust.Signature, map[string]string{"x.wasm": pin}, []string{mine}, wasm, nil, "it has no .minisig file"},
		{"either: pinned", trust.Either, map[string]string{"x.wasm": pin}, []string{mine}, wasm, nil, none},
		{"either: signed", trust.Either, map[string]string{"y.wasm": pin}, []string{mine}, wasm, good, none},
		{"either: neither", trust.Either, map[string]string{"y.wasm": pin}, []string{mine}, wasm, nil, "neither a pin nor"},
		{"pinned, with a wrong signature", trust.Either, map[string]string{"x.wasm": pin}, []string{mine}, wasm, foreign, "not a signature of it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := trust.New(tt.require, tt.pins, tt.keys)
			if err != nil {
				t.Fatal(err)
			}
			switch err := p.Check("plugins.d/x.wasm", tt.wasm, tt.sig); {
			case tt.want == none && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.want != none && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func keyOf(t *testing.T) string {
	t.Helper()
	public, _ := keyPair(t)
	return public
}

func TestBadPolicy(t *testing.T) {
	t.Parallel()
	pinned := func(pin string) func() error {
		return func() error { _, err := trust.New(trust.Pin, map[string]string{"x.wasm": pin}, nil); return err }
	}
	for name, make := range map[string]func() error{
		"pin without sha256":  pinned(strings.Repeat("0", 64)),
		"short pin":           pinned("sha256:00"),
		"key":                 func() error { _, err := trust.ParseKey("RWQ"); return err },
		"empty key":           func() error { _, err := trust.ParseKey(""); return err },
		"pin of another hash": pinned("sha1:0"),
		"policy's key":        func() error { _, err := trust.New(trust.Pin, nil, []string{"x"}); return err },
	} {
		if err := make(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line", name, err)
		}
	}
}

// FuzzSignature gives the reader of signatures what anyone could put beside a plugin.
func FuzzSignature(f *testing.F) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	wasm := []byte("\x00asm")
	f.Add(minisign.Sign(private, wasm))
	f.Add([]byte("untrusted comment: x\nRWQ=\ntrusted comment: y\nAAAA"))
	other, err := trust.New(trust.Signature, nil, []string{public.String()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, signature []byte) {
		if err := other.Check("x.wasm", []byte("\x00asm, but another one"), signature); err == nil {
			t.Error("a signature of nothing was taken")
		}
	})
}
