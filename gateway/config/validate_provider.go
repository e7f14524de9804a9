package config

import (
	"cmp"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/callgate/callgate/gateway/headers"
)

func checkProvider(r *report, name string, pr Provider) {
	p := path("providers").Key(name)
	if !isProviderName(name) {
		r.addName(p, "the name of a provider has 1 to 64 characters of a-z, A-Z, 0-9, _, . and -")
	}
	checkParsers(r, p.Key("parser"), pr.Parser)
	checkInvalidCall(r, p.Key("on_invalid_call"), pr.OnInvalidCall, pr.ToolCalls)
	checkDoubtfulCall(r, p.Key("doubtful_call"), pr.DoubtfulCall, cmp.Or(pr.OnInvalidCall, "pass"))
	checkInvalidOutput(r, p.Key("on_invalid_output"), pr.OnInvalidOutput, pr.StructuredOutput, pr.ToolCalls)
	if retry := pr.Retry; retry.MaxDelay < retry.BaseDelay {
		r.add(p.Key("retry").Key("max_delay"), "the longest wait, %s, is less than the first, %s; raise it, or lower base_delay", retry.MaxDelay, retry.BaseDelay)
	}
	checkSpecial(r, p, pr)
	checkHints(r, p.Key("prompt_cache_hints"), pr)
	if pr.Type == "demo" {
		checkDemo(r, p, pr)
		return
	}
	checkRaw(r, p, pr.RawToolText, pr)
	checkBaseURL(r, p.Key("base_url"), pr)
	checkAPIVersion(r, p.Key("api_version"), pr)
	checkAzureResponses(r, p.Key("responses"), pr)
	checkAPIKey(r, p, pr)
	checkHeaders(r, p.Key("headers"), pr.Headers, setHeaders(pr))
	checkTravelling(r, p, pr)
}

// special gives the keys that only some types take, and whether a provider has
// them. Only what was written counts: what is at its default asks for nothing.
func special(pr Provider) map[string]bool {
	return map[string]bool{
		"server": pr.Server != "", "raw_tool_text": pr.RawToolText,
		"api_version": pr.APIVersion != "", "max_tokens": pr.MaxTokens != 0, "responses": pr.Responses != "",
	}
}

// checkSpecial refuses what a type would ignore.
func checkSpecial(r *report, p path, pr Provider) {
	known, ok := adapters[pr.Type]
	if !ok {
		return // a problem already
	}
	given := special(pr)
	for _, key := range sortedKeys(given) {
		if given[key] && !slices.Contains(known.keys, key) {
			r.add(p.Key(key), "type %s does not take it; leave it out, or use %s", pr.Type, typesWith(key))
		}
	}
}

// typesWith lists for a message the types that take a key.
func typesWith(key string) string {
	var types []string
	for _, typ := range sortedKeys(adapters) {
		if slices.Contains(adapters[typ].keys, key) {
			types = append(types, "type: "+typ)
		}
	}
	return strings.Join(types, " or ")
}

// checkRaw wants to know the server that is asked for raw text. A target may ask
// too, of a provider whose type has no such thing.
func checkRaw(r *report, p path, raw bool, pr Provider) {
	known, ok := adapters[pr.Type]
	switch at := p.Key("raw_tool_text"); {
	case !raw || !ok:
	case !slices.Contains(known.keys, "raw_tool_text"):
		r.add(at, "a provider of type %s does not take it; leave it out, or use %s", pr.Type, typesWith("raw_tool_text"))
	case pr.Server == "":
		r.add(at, "what to ask for depends on the upstream's software; give the provider server: vllm, sglang or llama.cpp")
	}
}

// checkInvalidCall refuses a rule for broken calls where nobody looks for them.
func checkInvalidCall(r *report, p path, rule, toolCalls string) {
	if toolCalls == Off && rule != "" && rule != "pass" {
		r.add(p, "with tool_calls: off no call is checked; use tool_calls: repair, or leave it out")
	}
}

// checkDoubtfulCall refuses a rule that another one would make void.
func checkDoubtfulCall(r *report, p path, rule, invalid string) {
	if rule == "refuse" && invalid == "pass" {
		r.add(p, "with on_invalid_call: pass nothing is refused; use on_invalid_call: reject or reask, or doubtful_call: report")
	}
}

// checkInvalidOutput refuses a rule for answers that are no JSON where nobody looks for them.
func checkInvalidOutput(r *report, p path, rule, structured, toolCalls string) {
	if rule == "" || rule == "pass" {
		return
	}
	switch {
	case structured == Off:
		r.add(p, "with structured_output: off no answer is checked; use structured_output: repair, or leave it out")
	case structured == "" && toolCalls == Off:
		r.add(p, "with tool_calls: off no answer is checked; write structured_output: repair beside it, or leave it out")
	}
}

// checkTotal refuses a time for one attempt that the time for all of them cuts
// short. One that nobody wrote is no promise.
func (c *Config) checkTotal(r *report, provider string) {
	p := path("providers").Key(provider).Key("timeouts").Key("total")
	total := c.Providers[provider].Timeouts.Total
	if r.written(p) && total > c.Timeout && !r.isBad("timeout") {
		r.add(p, "an attempt of %s would end with the request's timeout, %s; raise timeout: at the top of the file, or lower this", total, c.Timeout)
	}
}

func isProviderName(name string) bool {
	return name != "" && len(name) <= 64 &&
		strings.IndexFunc(name, func(c rune) bool { return c > unicode.MaxASCII || !isNameByte(byte(c)) && c != '.' && c != '-' }) < 0
}

// checkDemo refuses what the demo provider would ignore: whoever writes it
// expects another type.
func checkDemo(r *report, p path, pr Provider) {
	given := map[string]bool{"base_url": pr.BaseURL != "", "api_key": !pr.APIKey.IsZero(), "headers": len(pr.Headers) > 0,
		"forward_headers": len(pr.ForwardHeaders) > 0, "pass_headers": len(pr.PassHeaders) > 0}
	for _, key := range sortedKeys(given) {
		if given[key] {
			r.add(p.Key(key), "type demo has no upstream; leave it out, or use type: openai")
		}
	}
}

func checkBaseURL(r *report, p path, pr Provider) {
	known, ok := adapters[pr.Type]
	if !ok { // a problem already, but a URL can be looked at all the same
		known.baseURL = adapters["openai"].baseURL
	}
	m := r.src.marks[p]
	switch {
	case pr.BaseURL != "":
		checkURL(r, p, pr.BaseURL, known.baseURL, "api_key or headers")
		checkURLPath(r, p, pr)
	case m.origin != "" && known.needsURL:
		r.add(p, "a value is required, and %s is empty; set it, for example to %s", m.origin, known.baseURL)
	case pr.Type == "openai":
		r.add(p, "a value is required; write for example %s, or set api_key alone for OpenAI itself", known.baseURL)
	case known.needsURL:
		r.add(p, "a value is required; write for example %s", known.baseURL)
	}
}

// checkURL checks an upstream's address. Credentials are what to use instead of
// a user in it.
func checkURL(r *report, p path, text, eg, credentials string) {
	shown := r.src.show(p, text)
	if strings.ContainsAny(text, "@?#") {
		shown = "the value" // a password or token may be in it
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !isPort(u.Port()):
		r.add(p, "%s is not an http(s) URL%s; write for example %s", shown, wrongPort(u), eg)
	case u.User != nil:
		r.add(p, "the URL holds a user; use %s instead", credentials)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		r.add(p, "the URL holds a query or fragment; write for example %s", eg)
	}
}

// wrongPort says that a URL's port is none.
func wrongPort(u *url.URL) string {
	if u == nil || isPort(u.Port()) {
		return ""
	}
	return ": its port is above 65535"
}

// checkURLPath refuses a path that Callgate adds itself: copied from the
// vendor's example of a whole request, it would be there twice.
func checkURLPath(r *report, p path, pr Provider) {
	u, err := url.Parse(pr.BaseURL)
	if err != nil {
		return
	}
	const message = "Callgate adds %s itself; write for example %s"
	base, eg := strings.TrimRight(u.Path, "/"), adapters[pr.Type].baseURL
	switch rest, _ := strings.CutSuffix(base, azureV1); {
	case pr.Type == "anthropic" && strings.HasSuffix(base, "/messages"):
		r.add(p, message, "/v1/messages", eg)
	case pr.Type == "azure" && slices.Contains(strings.Split(rest, "/"), "openai"):
		r.add(p, message, "/openai and what follows", eg)
	case strings.HasSuffix(base, "/chat/completions"):
		r.add(p, message, "/chat/completions", eg)
	}
}

// azureV1 ends the base URL of Azure's interface without dated versions.
const azureV1 = "/openai/v1"

// azureVersion is what Azure calls its versions: dates, or the words for the one
// without dates.
var azureVersion = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2}(-preview)?|v1|preview)$`)

func checkAPIVersion(r *report, p path, pr Provider) {
	version := pr.APIVersion
	switch {
	case version == "":
	case pr.Type == "azure" && !azureVersion.MatchString(version):
		r.add(p, "%s is not a version of Azure's; write for example 2024-10-21, or v1", r.src.show(p, version))
	case pr.Type == "azure" && strings.HasSuffix(strings.TrimRight(pr.BaseURL, "/"), azureV1) && strings.Contains(version, "-"):
		r.add(p, "base_url ends in %s, which has no dated versions; leave this out, or write the endpoint alone", azureV1)
	case !isParserName(strings.ToLower(version)): // it goes into a header
		r.add(p, "%s is not a version: only a-z, A-Z, 0-9, _, . and -", r.src.show(p, version))
	}
}

// checkAzureResponses refuses the Responses API where the version of Azure's has none.
func checkAzureResponses(r *report, p path, pr Provider) {
	const first = "2025-03-01"
	version := pr.APIVersion
	if strings.HasSuffix(strings.TrimRight(pr.BaseURL, "/"), azureV1) {
		version = "v1"
	}
	if pr.Type == "azure" && pr.Responses == "native" && (version == "" || version[0] == '2' && version < first) {
		r.add(p, "this api_version of Azure has no Responses API; write api_version: v1, or %s-preview or later", first)
	}
}

// checkAPIKey says too if a key is missing that the environment should hold.
func checkAPIKey(r *report, p path, pr Provider) {
	at, key := p.Key("api_key"), pr.APIKey
	if m := r.src.marks[at]; key.IsZero() && m.origin != "" {
		r.add(at, "%s is empty; set it, or unset %s", m.origin, r.src.marks[p.Key("base_url")].origin)
		return
	}
	checkCredential(r, at, key)
	checkCopied(r, at, pr)
}

// checkCopied refuses a key with what does not belong to it, which every upstream
// would refuse as a wrong key, and one of another vendor's at a vendor's own address.
func checkCopied(r *report, p path, pr Provider) {
	key := pr.APIKey.Reveal()
	switch ends := strings.Trim(key, "\"'"); {
	case len(key) > 1 && len(ends) == len(key)-2 && key[0] == key[len(key)-1]:
		r.add(p, "the key itself is in quotes; leave them out, in an env file too")
	case strings.HasPrefix(strings.ToLower(key), "bearer "):
		r.add(p, `write the key without "Bearer", which Callgate adds itself`)
	case variable.MatchString(key):
		r.add(p, "the key looks like a variable that was not expanded; write ${NAME}")
	case pr.Type == "openai" && isVendor(pr.BaseURL, "api.openai.com") && strings.HasPrefix(key, anthropicKey):
		r.add(p, "the key is one of Anthropic's, and base_url is OpenAI's; give OpenAI's key, or write type: anthropic")
	case pr.Type == "anthropic" && isVendor(pr.BaseURL, "api.anthropic.com") && openAIKey.MatchString(key):
		r.add(p, "the key is one of OpenAI's, and base_url is Anthropic's; give Anthropic's key, or write type: openai")
	}
}

// anthropicKey begins Anthropic's keys.
const anthropicKey = "sk-ant-"

// openAIKey matches the keys that only OpenAI gives.
var openAIKey = regexp.MustCompile(`^sk-(proj|svcacct|admin)-`)

// variable matches a shell's variable, which is not what this file calls one.
var variable = regexp.MustCompile(`^\$[A-Z][A-Z0-9_]*$|^%[A-Z][A-Z0-9_]*%$`)

// isVendor reports whether a base URL leads to a vendor's own host, as one does that is left out.
func isVendor(base, host string) bool {
	u, err := url.Parse(base)
	return base == "" || err == nil && u.Hostname() == host
}

// isPort reports whether a text is a port, or nothing; numbers of databases have the same range.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil
}

// checkCredential refuses what no header can carry; most often it is the newline
// at the end of a file that the value was read from.
func checkCredential(r *report, p path, s Secret) {
	text := s.Reveal()
	if strings.ContainsFunc(text, unicode.IsControl) {
		r.add(p, "the value holds a newline or another control character, which no HTTP header can carry; remove it")
	} else if strings.TrimSpace(text) != text {
		r.add(p, "the value begins or ends with a space; remove it")
	}
}

// ownHeaders are those that the gateway or its HTTP client set themselves.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type",
	"Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// setHeaders gives the headers that keys of a provider set, with the key of each.
func setHeaders(pr Provider) map[string]string {
	known, out := adapters[pr.Type], map[string]string{}
	if !pr.APIKey.IsZero() {
		out[known.keyHeader] = "api_key"
	}
	if pr.APIVersion != "" {
		out[known.versionHeader] = "api_version"
	}
	return out
}

func checkHeaders(r *report, p path, headers map[string]Secret, set map[string]string) {
	seen := map[string]string{}
	for _, name := range sortedKeys(headers) {
		at := p.Key(name)
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		key, own := set[canonical]
		switch first, repeated := seen[canonical]; {
		case !isHeaderName(name):
			r.add(at, "this is not the name of a header; write one of letters, digits and -, such as X-Team")
		case slices.Contains(ownHeaders, canonical):
			r.add(at, "the gateway sets this header itself")
		case own:
			r.add(at, "%s sets this header; keep one of them", key)
		case repeated:
			r.add(at, "the header is here as %s too; keep one", first)
		}
		seen[canonical] = name
		checkCredential(r, at, headers[name])
	}
}

// checkTravelling refuses names of headers that no setting lets travel.
func checkTravelling(r *report, p path, pr Provider) {
	fixed := map[string]bool{}
	for name := range pr.Headers {
		fixed[textproto.CanonicalMIMEHeaderKey(name)] = true
	}
	checkNames(r, p.Key("forward_headers"), pr.ForwardHeaders, func(name string) string {
		if fixed[name] {
			return "headers sets it for every request; keep one of them"
		}
		return headers.ForwardProblem(name)
	})
	checkNames(r, p.Key("pass_headers"), pr.PassHeaders, headers.PassProblem)
}

// checkNames checks a list of names of headers. problem says what is wrong with one.
func checkNames(r *report, p path, names []string, problem func(canonical string) string) {
	seen := map[string]bool{}
	for i, name := range names {
		at, canonical := p.At(i), textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isHeaderName(name):
			r.add(at, "%s is not the name of a header", r.src.show(at, name))
		case seen[canonical]:
			r.add(at, "the header %s is in the list twice", r.src.show(at, name))
		default:
			if wrong := problem(canonical); wrong != "" {
				r.add(at, "%s cannot be in this list: %s", r.src.show(at, name), wrong)
			}
		}
		seen[canonical] = true
	}
}

func isHeaderName(name string) bool {
	for i := range len(name) {
		if !isNameByte(name[i]) && !strings.ContainsRune("!#$%&'*+-.^`|~", rune(name[i])) {
			return false
		}
	}
	return name != ""
}
