package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/probe"
)

type doctorCmd struct {
	URL     string        `arg:"" optional:"" help:"Base URL of a server, such as http://127.0.0.1:8000/v1: what it is, what it does with tools, and the configuration to write."`
	Config  string        `short:"c" type:"path" help:"Configuration file: check that everything it names is there and works, and say what to do if not." placeholder:"FILE"`
	Model   string        `help:"Model to ask. Default: the first one that the server lists." placeholder:"NAME"`
	KeyEnv  string        `name:"key-env" help:"Environment variable with the server's key." placeholder:"NAME"`
	Timeout time.Duration `help:"Time limit for the whole command." default:"2m"`
}

// Run asks a server, or what a configuration names.
func (d *doctorCmd) Run(e *env) error {
	ctx, cancel := context.WithTimeout(e.ctx, d.Timeout)
	defer cancel()
	switch {
	case (d.URL == "") == (d.Config == ""):
		return usageError{errors.New("name the URL of a server, or a configuration with -c (see callgate doctor --help)")}
	case d.Config != "":
		return d.configuration(ctx, e)
	}
	return d.server(ctx, e)
}

// keyRemedy says what to do about a server that wants a key.
func (d *doctorCmd) keyRemedy(err error) string {
	switch {
	case !errors.Is(err, probe.ErrKey):
		return ""
	case d.KeyEnv == "":
		return "name the environment variable that holds it: --key-env NAME"
	}
	return d.KeyEnv + " holds another one"
}

// server asks one server, and prints what to write for it.
func (d *doctorCmd) server(ctx context.Context, e *env) error {
	if _, ok := os.LookupEnv(d.KeyEnv); d.KeyEnv != "" && !ok {
		return usageError{fmt.Errorf("--key-env: there is no environment variable %q; set it, or leave --key-env out if the server wants no key", d.KeyEnv)}
	}
	base, err := baseURL(d.URL, "http://127.0.0.1:8000/v1")
	if err != nil && isFile(d.URL) {
		err = fmt.Errorf("%q is a file; write callgate doctor -c %[1]s", d.URL)
	}
	if err != nil {
		return usageError{err}
	}
	source, err := e.parsers("", os.LookupEnv, logger(e.stderr, config.Log{Level: "error", Format: "text"}))
	if err != nil {
		return usageError{err}
	}
	defer source.host.Close(e.ctx)
	p := probe.Prober{HTTP: &http.Client{}, Base: base, Key: os.Getenv(d.KeyEnv), Read: func(ctx context.Context, text, model string) (string, string) {
		out, err := parse(ctx, source, parseIn{Input: &text, Model: model, Reasoning: "auto", FinishReason: "stop", Parser: &nameOrNames{config.Auto}})
		if err != nil || len(out.ToolCalls) == 0 {
			return "", ""
		}
		return out.Parser, out.ToolCalls[0].Function.Name
	}}
	found, err := p.Ask(ctx, d.Model)
	if err != nil {
		remedy := cmp.Or(d.keyRemedy(err), connectRemedy(err), "start the server, or correct the host and the port of the address")
		if no, ok := errors.AsType[*probe.NoAPIError](err); ok {
			remedy = no.Remedy()
		}
		return fmt.Errorf("%w\n%s", err, remedy)
	}
	d.tell(e.stdout, found)
	if found.Tools == probe.Unknown {
		return errFailed
	}
	return nil
}

// tell prints what was found out.
func (d *doctorCmd) tell(w io.Writer, r *probe.Report) {
	what := "a server that does not say what it is"
	if r.Software != "" {
		what = strings.TrimSpace(r.Software + " " + r.Version)
	}
	fmt.Fprintf(w, "%s is %s\n", d.URL, what)
	model := cmp.Or(d.Model, append(r.Models, "")[0])
	fmt.Fprintf(w, "models    %d: %s\n", len(r.Models), strings.Join(r.Models[:min(len(r.Models), 5)], ", "))
	if r.Context > 0 {
		fmt.Fprintf(w, "context   %d tokens\n", r.Context)
	}
	target, server := "parser: auto", ""
	switch r.Tools {
	case probe.Calls:
		fmt.Fprintf(w, "tools     %s answers with a tool call\n", model)
	case probe.Text:
		fmt.Fprintf(w, "tools     %s writes its call as text, in the format %s\n", model, r.Parser)
		target = "parser: " + r.Parser
	case probe.Raw:
		fmt.Fprintf(w, "tools     refused (%s)\n          asked for its own text, %s writes its call in the format %s\n", r.Said, model, r.Parser)
		target, server = "parser: "+r.Parser+", raw_tool_text: true", ", server: vllm"
	case probe.Refuses:
		fmt.Fprintf(w, "tools     refused (%s)\n          they must go into the prompt\n", r.Said)
		target = "tools: prompted, parser: " + r.Parser
	case probe.Silent:
		fmt.Fprintf(w, "tools     %s answers without a call, although the question needs one: check that its chat template has tools\n", model)
		target = "tools: prompted, parser: " + r.Parser
	default:
		fmt.Fprintf(w, "tools     not known: %s\n", r.Said)
		return
	}
	key := ""
	if d.KeyEnv != "" {
		key = fmt.Sprintf(", api_key: \"${%s}\"", d.KeyEnv)
	}
	fmt.Fprintf(w, "\nproviders:\n  local: {type: openai, base_url: %q%s%s}\nmodels:\n  %q: {targets: [{provider: local, %s}]}\n", d.URL, key, server, cmp.Or(model, "*"), target)
}
