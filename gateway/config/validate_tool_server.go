package config

import (
	"net/textproto"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callgate/callgate/internal/netaddr"
)

// lockName is the lock file's name where tool_pins gives none.
const lockName = "callgate.tools.lock"

// ToolLock is the path of the lock file of tools; "" for none.
func (c *Config) ToolLock() string {
	switch {
	case c.ToolPins == Off:
		return ""
	case c.ToolPins != "":
		return c.ToolPins
	case c.src == nil:
		return lockName
	}
	return filepath.Join(filepath.Dir(c.src.file), lockName)
}

// ToolToken is the path of the file that keeps a tool server's token.
func (c *Config) ToolToken(name string) string {
	file := "callgate." + name + ".token"
	switch {
	case c.ToolServers[name].OAuth.File != "":
		return c.ToolServers[name].OAuth.File
	case c.src == nil:
		return file
	}
	return filepath.Join(filepath.Dir(c.src.file), file)
}

func (c *Config) checkToolServer(r *report, name string) {
	p, s := path("tool_servers").Key(name), c.ToolServers[name]
	if !isToolServerName(name) {
		r.addName(p, "the name of a tool server has 1 to 32 characters of a-z, A-Z, 0-9, - and _, with no _ at its ends and no two in a row")
	}
	switch s.Type {
	case "mcp":
		checkMCP(r, p, s)
	case "http":
		checkHTTPTools(r, p, s)
	}
	checkToolHeaders(r, p.Key("headers"), s.Headers)
	lists := map[string][]string{"tools": s.Tools, "reads": s.Reads, "writes": s.Writes, "idempotent": s.Idempotent, "approval": s.Approval}
	for _, key := range sortedKeys(lists) {
		for i, pattern := range lists[key] {
			at := p.Key(key)
			if pattern == "" || len(pattern) > 128 {
				r.add(at.At(i), "%s is not the name of a tool: one has 1 to 128 characters", r.src.show(at.At(i), pattern))
			}
			if slices.Index(lists[key], pattern) < i {
				r.add(at.At(i), "%s is in the list twice", r.src.show(at.At(i), pattern))
			}
		}
	}
	if r.written(p.Key("tools")) && len(s.Tools) == 0 {
		r.add(p.Key("tools"), "no tool would be offered; leave it out for all, or remove the server")
	}
	c.checkFallback(r, p.Key("fallback"), s)
}

// checkFallback wants the servers of other tools to exist. Their tools are known later.
func (c *Config) checkFallback(r *report, p path, s ToolServer) {
	for _, tool := range sortedKeys(s.Fallback) {
		for i, alias := range s.Fallback[tool] {
			server, name, ok := strings.Cut(alias, "__")
			if _, known := c.ToolServers[server]; !ok || name == "" || !known {
				at := p.Key(tool).At(i)
				r.add(at, "%s is not a tool of one of the tool_servers; write server__tool", r.src.show(at, alias))
			}
		}
	}
}

func checkMCP(r *report, p path, s ToolServer) {
	switch {
	case s.URL != "" && len(s.Command) > 0:
		r.add(p.Key("command"), "url is there too; keep one of them")
	case s.URL == "" && len(s.Command) == 0 && !r.hasBad(p.Key("url")) && !r.hasBad(p.Key("command")):
		r.add(p, "a server of type mcp has a url or a command; write for example url: https://mcp.example/mcp")
	case s.URL != "":
		checkURL(r, p.Key("url"), s.URL, "https://mcp.example/mcp", "headers")
	case len(s.Command) > 0 && s.Command[0] == "":
		r.add(p.Key("command").At(0), "the program has no name")
	}
	checkNeedless(r, p, s)
	checkOAuth(r, p, s)
	for _, name := range sortedKeys(s.Env) {
		if !isVariable(name) {
			r.add(p.Key("env").Key(name), "this is not the name of a variable; write one of letters, digits and _, such as API_TOKEN")
		}
		if strings.Contains(s.Env[name].Reveal(), "\x00") {
			r.add(p.Key("env").Key(name), "the value holds a null character")
		}
	}
}

// checkOAuth holds that what is there of oauth fits together, and beside the server's url.
func checkOAuth(r *report, p path, s ToolServer) {
	o, at := s.OAuth, p.Key("oauth")
	switch {
	case !r.written(at):
		return
	case len(s.Command) > 0:
		r.add(at, "a command signs in nowhere; give it what it needs in env")
		return
	case o.Grant == "":
		if !r.hasBad(at.Key("grant")) {
			r.add(at, "grant is missing; write authorization_code or client_credentials")
		}
		return
	}
	for name := range s.Headers {
		if textproto.CanonicalMIMEHeaderKey(name) == "Authorization" {
			r.add(p.Key("headers").Key(name), "oauth sets this header; keep one of them")
		}
	}
	if o.Grant == "client_credentials" {
		checkMachine(r, at, o)
	}
	if u, err := url.Parse(o.ClientDocument); o.ClientDocument != "" && (err != nil || u.Scheme != "https" || len(u.Path) < 2) {
		r.add(at.Key("client_document"), "%s is not an https URL with a path; write for example https://callgate.example/client.json", showURL(r, at.Key("client_document"), o.ClientDocument))
	}
	for i, origin := range o.Servers {
		if !isOrigin(origin) {
			r.add(at.Key("servers").At(i), "%s is not an origin over https; write for example https://login.example", showURL(r, at.Key("servers").At(i), origin))
		}
	}
}

// checkMachine holds what the grant client_credentials wants.
func checkMachine(r *report, at path, o ToolOAuth) {
	if o.ClientID == "" || o.ClientSecret.Reveal() == "" {
		r.add(at, "client_credentials wants client_id and client_secret")
	}
	needless := map[string]bool{"client_document": o.ClientDocument != "", "file": o.File != "", "scopes": len(o.Scopes) > 0}
	for _, key := range sortedKeys(needless) {
		if needless[key] {
			r.add(at.Key(key), "only authorization_code takes it; leave it out")
		}
	}
}

// isOrigin says whether text is a scheme and a host alone: https, or this machine.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment == "" &&
		(u.Scheme == "https" || u.Scheme == "http" && netaddr.LoopbackHeader(u.Host))
}

// checkNeedless refuses what a server of type mcp would ignore.
func checkNeedless(r *report, p path, s ToolServer) {
	const onlyCommand = "only a command takes it; leave it out"
	needless := map[string]string{}
	if len(s.Requests) > 0 {
		needless["requests"] = "only type http takes it; leave it out"
	}
	if len(s.Command) == 0 && len(s.Env) > 0 {
		needless["env"] = onlyCommand
	}
	if len(s.Command) == 0 && s.Directory != "" {
		needless["directory"] = onlyCommand
	}
	for key, given := range map[string]bool{"max_memory": s.MaxMemory != 0, "max_cpu": s.MaxCPU != 0, "max_files": s.MaxFiles != 0} {
		if given && len(s.Command) == 0 {
			needless[key] = onlyCommand
		}
	}
	if len(s.Command) > 0 && len(s.Headers) > 0 {
		needless["headers"] = "a command has no headers; give it what it needs in env"
	}
	if len(s.Command) > 0 && s.PrivateNetwork {
		needless["private_network"] = "a command has no url; leave it out"
	}
	for _, key := range sortedKeys(needless) {
		r.add(p.Key(key), "%s", needless[key])
	}
}

func checkHTTPTools(r *report, p path, s ToolServer) {
	needless := map[string]bool{"url": s.URL != "", "command": len(s.Command) > 0, "env": len(s.Env) > 0, "directory": s.Directory != "", "oauth": r.written(p.Key("oauth")), "elicitation": r.written(p.Key("elicitation")),
		"max_memory": s.MaxMemory != 0, "max_cpu": s.MaxCPU != 0, "max_files": s.MaxFiles != 0}
	for _, key := range sortedKeys(needless) {
		if needless[key] {
			r.add(p.Key(key), "only type mcp takes it; leave it out")
		}
	}
	if len(s.Requests) == 0 && !r.hasBad(p.Key("requests")) {
		r.add(p, "a server of type http has requests; write for example requests: [{name: forecast, description: \"The weather.\", url: \"https://api.example/v1/{city}\"}]")
	}
	seen := map[string]bool{}
	for i, t := range s.Requests {
		at := p.Key("requests").At(i)
		if t.Name != "" && (!isParserName(strings.ToLower(t.Name)) || len(t.Name) > 128) {
			r.add(at.Key("name"), "%s is not the name of a tool: one has 1 to 128 characters of a-z, A-Z, 0-9, _, . and -", r.src.show(at.Key("name"), t.Name))
		}
		if seen[t.Name] && t.Name != "" {
			r.add(at.Key("name"), "another request has this name too; every tool needs its own")
		}
		seen[t.Name] = true
		checkToolHeaders(r, at.Key("headers"), t.Headers)
		if (t.Method == "GET" || t.Method == "DELETE") && t.Body != "" && t.Body != "none" {
			r.add(at.Key("body"), "a %s request has no body; leave it out", t.Method)
		}
	}
}

func checkToolHeaders(r *report, p path, headers map[string]Secret) {
	checkHeaders(r, p, headers, nil)
	for _, name := range sortedKeys(headers) {
		if canonical := textproto.CanonicalMIMEHeaderKey(name); strings.HasPrefix(canonical, "Mcp-") || canonical == "Last-Event-Id" {
			r.add(p.Key(name), "the protocol sets this header")
		}
	}
}

func isToolServerName(name string) bool {
	return name != "" && len(name) <= 32 && !strings.Contains(name, "__") && strings.Trim(name, "_") == name &&
		strings.IndexFunc(name, func(c rune) bool { return c > 0x7f || !isNameByte(byte(c)) && c != '-' }) < 0
}

// CheckToolRequests checks the requests of tool servers by what their package says of each: the
// setting that is wrong, and why. The wiring calls it first. The error is an [*Error].
func (c *Config) CheckToolRequests(check func(ToolRequest) (key string, err error)) error {
	r := newReport(c.src)
	for _, name := range sortedKeys(c.ToolServers) {
		for i, t := range c.ToolServers[name].Requests {
			if key, err := check(t); err != nil {
				r.add(path("tool_servers").Key(name).Key("requests").At(i).Key(key), "%v", err)
			}
		}
	}
	return r.err()
}

// showURL is what is no URL of the kind that is wanted; one with a name and a password is not shown.
func showURL(r *report, p path, text string) string {
	if strings.Contains(text, "@") {
		return "the value"
	}
	return r.src.show(p, text)
}
