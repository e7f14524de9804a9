package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

type toolsCmd struct {
	List  toolsListCmd  `cmd:"" help:"List the tools of all tool servers, and any that are missing."`
	Call  toolsCallCmd  `cmd:"" help:"Call a tool once and print its result."`
	Pin   toolsPinCmd   `cmd:"" help:"Write the tool servers' current tools into the lock file, and print what that changes."`
	Login toolsLoginCmd `cmd:"" help:"Sign in at a tool server that wants OAuth, in a browser, and keep its token for the gateway."`
	Diff  toolsDiffCmd  `cmd:"" help:"Print how the tool servers differ from the lock file; status 1 if they do."`
}

// toolsFlags are those that all of them have.
type toolsFlags struct {
	Config string `short:"c" env:"CALLGATE_CONFIG" type:"path" required:"" help:"Configuration file." placeholder:"FILE"`
	JSON   bool   `help:"Print JSON."`
}

// catalogue asks all tool servers of the configuration once; if the tool of a name alone is wanted, only its
// own. The caller closes it.
func (f toolsFlags) catalogue(e *env, wanted string) (*catalogue.Catalogue, error) {
	cfg, err := loadConfig(f.Config, os.LookupEnv)
	if err != nil {
		return nil, usageError{err}
	}
	if len(cfg.ToolServers) == 0 {
		return nil, usageError{fmt.Errorf("%s has no tool_servers", f.Config)}
	}
	if server, _, ok := strings.Cut(wanted, "__"); ok {
		if own, there := cfg.ToolServers[server]; there {
			cfg.ToolServers = map[string]config.ToolServer{server: own}
		}
	}
	c, err := newCatalogue(cfg, nil, logger(e.stderr, config.Log{Level: "warn", Format: "text"}))
	if err != nil {
		return nil, usageError{err}
	}
	c.Refresh(e.ctx)
	return c, nil
}

func (f toolsFlags) print(e *env, value any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

type toolsListCmd struct {
	toolsFlags
}

// Run prints a line a tool, and what is missing.
func (t *toolsListCmd) Run(e *env) error {
	c, err := t.catalogue(e, "")
	if err != nil {
		return err
	}
	defer c.Close()
	servers := c.Status()
	if t.JSON {
		return t.print(e, map[string]any{"servers": servers})
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tDOES\tREPEATS\tAPPROVAL\tPIN\tDESCRIPTION")
	for _, s := range servers {
		for _, tool := range s.Tools {
			pin := map[bool]string{true: "pinned", false: "-"}[s.Pinned]
			if tool.Quarantine != "" {
				pin = "QUARANTINE"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", tool.Alias, tool.Effect, yesOrDash(tool.Idempotent), yesOrDash(tool.Approval), pin, oneLine(tool.Description, 60))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range servers {
		for _, m := range s.Missing {
			if m.Tool == "" && m.Why == s.Problem {
				m.Why = s.Why()
			}
			fmt.Fprintf(e.stdout, "missing: %s: %s\n", cmp.Or(strings.Trim(m.Server+"/"+oneLine(m.Tool, 128), "/"), s.Name), oneLine(m.Why, 500))
		}
		for _, tool := range s.Tools {
			for _, warning := range tool.Warnings {
				fmt.Fprintf(e.stdout, "warning: %s: %s\n", tool.Alias, oneLine(warning, 500))
			}
		}
	}
	return nil
}

func yesOrDash(is bool) string { return dash(map[bool]string{true: "yes"}[is]) }

// oneLine is text for a terminal: what a server wrote must not move its cursor.
func oneLine(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text, cut := toolserver.Cut(strings.Join(strings.Fields(text), " "), limit)
	if cut > 0 {
		text += "…"
	}
	return text
}

// manyLines is text for a terminal that keeps its line ends.
func manyLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

type toolsCallCmd struct {
	toolsFlags
	Name      string        `arg:"" help:"Name of the tool as models see it, server__tool." placeholder:"NAME"`
	Arguments string        `arg:"" optional:"" default:"{}" help:"Its arguments, a JSON object." placeholder:"JSON"`
	Timeout   time.Duration `help:"How long to wait, instead of the server's timeout." placeholder:"DURATION"`
}

// toolResult is a result in JSON.
type toolResult struct {
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Failed     bool            `json:"failed"`
	Dropped    []string        `json:"dropped,omitempty"`
	Cut        int             `json:"cut,omitempty"`
	Error      *toolError      `json:"error,omitempty"`
}

type toolError struct {
	Type    toolserver.Kind `json:"type"`
	Message string          `json:"message"`
	Hint    string          `json:"hint,omitempty"`
	Sent    bool            `json:"sent"`
	Again   bool            `json:"again"`
}

// Run calls a tool. The status is 1 if it failed.
func (t *toolsCallCmd) Run(e *env) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(t.Arguments), &object); err != nil || object == nil {
		return usageError{fmt.Errorf("the arguments %.80q are not a JSON object; write for example '{\"city\": \"Oslo\"}'", t.Arguments)}
	}
	c, err := t.catalogue(e, t.Name)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := e.ctx, func() {}
	if t.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, t.Timeout)
	}
	defer cancel()
	result, err := c.Call(ctx, t.Name, json.RawMessage(t.Arguments))
	if t.JSON {
		return t.printed(e, result, err)
	}
	if err != nil {
		var failed *toolserver.Error
		if !errors.As(err, &failed) {
			return err
		}
		return errors.New(explained(c.Status(), t.Name, failed))
	}
	text := manyLines(result.Text)
	if text == "" && len(result.Structured) > 0 {
		text = manyLines(string(result.Structured))
	}
	fmt.Fprintln(e.stdout, text)
	if result.Cut > 0 {
		fmt.Fprintf(e.stderr, "%d more bytes are left out\n", result.Cut)
	}
	if len(result.Dropped) > 0 {
		fmt.Fprintf(e.stderr, "left out: %s\n", strings.Join(result.Dropped, ", "))
	}
	if result.Failed {
		fmt.Fprintln(e.stderr, "the tool says that it failed")
		return errFailed
	}
	return nil
}

// explained is an error with what an operator may know and a model may not: why its server does not answer, and
// which tools may have been meant.
func explained(servers []catalogue.Status, name string, failed *toolserver.Error) string {
	if failed.Kind == toolserver.UnknownTool {
		return unknownTool(servers, name, failed.Message)
	}
	message := failed.Message
	if !strings.Contains(message, failed.Cause) {
		message = strings.TrimSuffix(message, ".") + ": " + oneLine(failed.Cause, 500) + "."
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s", failed.Kind, message, failed.Hint))
}

// unknownTool is message, that there is no tool of a name, with what to write instead.
func unknownTool(servers []catalogue.Status, name, message string) string {
	var names, known []string
	for _, s := range servers {
		if s.Problem != "" && strings.HasPrefix(name, s.Name+"__") {
			return fmt.Sprintf("%s: %s", toolserver.Unavailable, oneLine(s.Why(), 500))
		}
		known = append(known, s.Name)
		for _, tool := range s.Tools {
			names = append(names, tool.Alias)
		}
	}
	remedy := "A name is server__tool; the servers are " + strings.Join(known, ", ") + ". callgate tools list prints their tools."
	if near := gateway.Near(name, names); len(near) > 0 {
		remedy = "Similar names: " + strings.Join(near, ", ") + "."
	}
	return fmt.Sprintf("%s: %s %s", toolserver.UnknownTool, message, remedy)
}

func (t *toolsCallCmd) printed(e *env, result *toolserver.Result, err error) error {
	var out toolResult
	var failed *toolserver.Error
	switch {
	case errors.As(err, &failed):
		out = toolResult{Failed: true, Error: &toolError{failed.Kind, failed.Message, failed.Hint, failed.Sent, failed.Again}}
	case err != nil:
		return err
	default:
		out = toolResult{Text: result.Text, Structured: result.Structured, Failed: result.Failed, Dropped: result.Dropped, Cut: result.Cut}
	}
	if err := t.print(e, out); err != nil {
		return err
	}
	if out.Failed {
		return errFailed
	}
	return nil
}

type toolsPinCmd struct {
	toolsFlags
	Servers []string `arg:"" optional:"" help:"Servers whose tools are pinned. Default: all." placeholder:"SERVER"`
}

// Run pins what there is, and prints what that changes.
func (t *toolsPinCmd) Run(e *env) error {
	c, err := t.catalogue(e, "")
	if err != nil {
		return err
	}
	defer c.Close()
	changes := c.Diff()
	count, err := c.Pin(t.Servers)
	if err != nil {
		return err
	}
	var mine []catalogue.Change
	for _, change := range changes {
		if len(t.Servers) == 0 || slices.Contains(t.Servers, change.Server) {
			mine = append(mine, change)
		}
	}
	if t.JSON {
		return t.print(e, map[string]any{"pinned": count, "changes": orEmpty(mine)})
	}
	printChanges(e, mine)
	fmt.Fprintf(e.stdout, "%s pinned\n", howMany(count, "tool"))
	return nil
}

func orEmpty(changes []catalogue.Change) []catalogue.Change {
	if changes == nil {
		return []catalogue.Change{}
	}
	return changes
}

type toolsDiffCmd struct {
	toolsFlags
}

// Run prints the differences.
func (t *toolsDiffCmd) Run(e *env) error {
	c, err := t.catalogue(e, "")
	if err != nil {
		return err
	}
	defer c.Close()
	changes, away := c.Diff(), false
	for _, s := range c.Status() {
		if !s.Up {
			fmt.Fprintf(e.stderr, "%s: %s\n", s.Name, oneLine(s.Why(), 900))
			away = true
		}
	}
	if t.JSON {
		if err := t.print(e, map[string]any{"changes": orEmpty(changes)}); err != nil {
			return err
		}
	} else {
		printChanges(e, changes)
	}
	if len(changes) > 0 || away {
		return errFailed
	}
	return nil
}

func printChanges(e *env, changes []catalogue.Change) {
	for _, c := range changes {
		fmt.Fprintf(e.stdout, "%s: %s of server %s\n%s", c.What, oneLine(c.Tool, 128), c.Server, manyLines(c.Diff))
	}
}
