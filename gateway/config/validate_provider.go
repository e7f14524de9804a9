package config

import (
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func checkProvider(r *report, name string, pr Provider) {
	p := path("providers").key(name)
	if !isProviderName(name) {
		r.addName(p, "the name of a provider has 1 to 64 characters of a-z, A-Z, 0-9, _, . and -")
	}
	checkParsers(r, p.key("parser"), pr.Parser)
	if pr.Type == "demo" {
		checkDemo(r, p, pr)
		return
	}
	checkRaw(r, p, pr.RawToolText, pr)
	checkBaseURL(r, p.key("base_url"), pr.BaseURL)
	checkCredential(r, p.key("api_key"), pr.APIKey)
	checkHeaders(r, p.key("headers"), pr)
}

// checkRaw wants to know the server that is asked for raw text.
func checkRaw(r *report, p path, raw bool, pr Provider) {
	if raw && pr.Server == "" {
		r.add(p.key("raw_tool_text"), "what to ask for depends on the upstream's software; give the provider server: vllm, sglang or llama.cpp")
	}
}

func isProviderName(name string) bool {
	return name != "" && len(name) <= 64 &&
		strings.IndexFunc(name, func(c rune) bool { return c > unicode.MaxASCII || !isWord(byte(c)) && c != '.' && c != '-' }) < 0
}

// checkDemo refuses what the demo provider would ignore: whoever writes it
// expects another type.
func checkDemo(r *report, p path, pr Provider) {
	const message = "type demo has no upstream; leave it out, or use type: openai"
	if pr.Server != "" {
		r.add(p.key("server"), message)
	}
	if pr.RawToolText {
		r.add(p.key("raw_tool_text"), message)
	}
	if pr.BaseURL != "" {
		r.add(p.key("base_url"), message)
	}
	if !pr.APIKey.IsZero() {
		r.add(p.key("api_key"), message)
	}
	if len(pr.Headers) > 0 {
		r.add(p.key("headers"), message)
	}
}

func checkBaseURL(r *report, p path, text string) {
	const eg = "; write for example http://127.0.0.1:8000/v1"
	if text == "" {
		r.add(p, "a value is required%s", eg)
		return
	}
	shown := r.src.show(p, text)
	if strings.ContainsAny(text, "@?#") {
		shown = "the value" // a password or token may be in it
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !isPort(u.Port()):
		r.add(p, "%s is not an http(s) URL%s", shown, eg)
	case u.User != nil:
		r.add(p, "the URL holds a user; use api_key or headers instead")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		r.add(p, "the URL holds a query or fragment%s", eg)
	}
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil
}

// checkCredential refuses what no header can carry; most often it is the newline
// at the end of a file that the value was read from.
func checkCredential(r *report, p path, s Secret) {
	text := s.Reveal()
	if strings.ContainsFunc(text, unicode.IsControl) {
		r.add(p, "the value holds a newline or another control character, which no HTTP header can carry")
	} else if strings.TrimSpace(text) != text {
		r.add(p, "the value begins or ends with a space")
	}
}

// ownHeaders are those that the gateway or its HTTP client set themselves.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type",
	"Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func checkHeaders(r *report, p path, pr Provider) {
	seen := map[string]string{}
	for _, name := range sortedKeys(pr.Headers) {
		at := p.key(name)
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch first, repeated := seen[canonical]; {
		case !isHeaderName(name):
			r.add(at, "this is not the name of a header")
		case slices.Contains(ownHeaders, canonical):
			r.add(at, "the gateway sets this header itself")
		case canonical == "Authorization" && !pr.APIKey.IsZero():
			r.add(at, "api_key sets this header; keep one of them")
		case repeated:
			r.add(at, "the header is here as %s too; keep one", first)
		}
		seen[canonical] = name
		checkCredential(r, at, pr.Headers[name])
	}
}

func isHeaderName(name string) bool {
	for i := range len(name) {
		if !isWord(name[i]) && !strings.ContainsRune("!#$%&'*+-.^`|~", rune(name[i])) {
			return false
		}
	}
	return name != ""
}
