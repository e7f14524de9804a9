package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/internal/plaintext"
)

type keyCmd struct {
	New     keyNewCmd     `cmd:"" default:"1" help:"Print a new key and its hash, for keys: in the configuration. Needs no running gateway."`
	Create  keyCreateCmd  `cmd:"" help:"Create a key at a running gateway and print it."`
	List    keyListCmd    `cmd:"" help:"List the keys of a running gateway."`
	Show    keyShowCmd    `cmd:"" help:"Show a key of a running gateway."`
	Rotate  keyRotateCmd  `cmd:"" help:"Give a key a new text and print it; the old text stays valid for a while (--overlap)."`
	Block   keyBlockCmd   `cmd:"" help:"Refuse a key from now on. Running requests may finish."`
	Unblock keyUnblockCmd `cmd:"" help:"Accept a blocked key again."`
	Delete  keyDeleteCmd  `cmd:"" help:"Delete a key."`
}

type keyNewCmd struct{}

// Run prints a new key and the hash that the configuration wants.
func (keyNewCmd) Run(e *env) error {
	text, secret := keys.NewSecret()
	_, err := fmt.Fprintf(e.stdout, "key (give it to the client; it is not stored anywhere): %s\nhash (for keys: in the configuration): %s\n", text, secret.Hash)
	return err
}

// scopeFlags are what a key or a team may do.
type scopeFlags struct {
	Models    []string          `help:"Models that may be asked for, with * for any text." placeholder:"NAME,..."`
	Tools     []string          `help:"Tools of tool_servers that may be used, as server__tool." placeholder:"NAME,..."`
	MaxTokens *int              `help:"Most output tokens that a request may ask for." placeholder:"N"`
	Label     map[string]string `mapsep:"none" help:"Labels for rows of usage, may be repeated." placeholder:"NAME=TEXT"`
	Limit     []string          `sep:"none" help:"A limit, may be repeated: requests=60/1m, tokens=100000/1m, usd=10/month or concurrency=4, followed, after commas, by burst=N, models=NAME or on_exceed=cut." placeholder:"LIMIT"`
}

// into puts what was said into a body. A limit that cannot be read is an error.
func (f *scopeFlags) into(body map[string]any) error {
	set := func(name string, there bool, value any) {
		if there {
			body[name] = value
		}
	}
	set("models", f.Models != nil, f.Models)
	set("tools", f.Tools != nil, f.Tools)
	set("max_tokens", f.MaxTokens != nil, f.MaxTokens)
	set("labels", len(f.Label) > 0, f.Label)
	var limits []limit.Spec
	for _, text := range f.Limit {
		l, err := limit.ParseSpec(text)
		if err != nil {
			return err
		}
		limits = append(limits, l)
	}
	set("limits", limits != nil, limits)
	return nil
}

// limitsText is a list of limits in a table.
func limitsText(list []limit.Spec) string {
	var out []string
	for i := range list {
		out = append(out, list[i].String())
	}
	return orDash(strings.Join(out, " "))
}

type keyCreateCmd struct {
	operatorFlags
	scopeFlags
	Name    string   `arg:"" help:"Name of the key, which logs show."`
	Team    string   `help:"Team whose scopes and limits apply too." placeholder:"NAME"`
	CIDR    []string `name:"cidr" help:"Networks from which the key may be used." placeholder:"NET,..."`
	Arms    []string `help:"Arms of rollouts that it may choose, as rollout/arm." placeholder:"ARM,..."`
	Expires string   `help:"When it expires: a date, a time, or how long from now, such as 720h." placeholder:"WHEN"`
}

// Run makes a key at the gateway and prints what to paste.
func (k *keyCreateCmd) Run(e *env) error {
	body := map[string]any{"name": k.Name}
	if err := k.into(body); err != nil {
		return err
	}
	if k.Team != "" {
		body["team"] = k.Team
	}
	if k.CIDR != nil {
		body["cidr"] = k.CIDR
	}
	if k.Arms != nil {
		body["arms"] = k.Arms
	}
	if k.Expires != "" {
		body["expires"] = k.Expires
		if d, err := time.ParseDuration(k.Expires); err == nil {
			body["expires"] = time.Now().Add(d).UTC().Format(time.RFC3339)
		}
	}
	return k.made(e, http.MethodPost, "/admin/keys", body)
}

// made asks for a key, and prints it.
func (o operatorFlags) made(e *env, method, path string, body any) error {
	var v httpapi.KeyView
	if err := o.ask(e, method, path, body, &v); err != nil || o.JSON {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "key (give it to the client; it is shown only now): %s\n\n  export OPENAI_API_KEY=%[1]s\n\n", v.Key)
	if err != nil {
		return err
	}
	return printKeys(e, []httpapi.KeyView{v})
}

type keyListCmd struct{ operatorFlags }

// Run prints all keys.
func (k *keyListCmd) Run(e *env) error {
	var all []httpapi.KeyView
	for after := ""; ; {
		var page struct {
			Keys []httpapi.KeyView `json:"keys"`
			More bool              `json:"more"`
		}
		if err := k.ask(e, http.MethodGet, "/admin/keys?limit=1000&after="+url.QueryEscape(after), nil, &page); err != nil {
			return err
		}
		all = append(all, page.Keys...)
		if !page.More || len(page.Keys) == 0 {
			break
		}
		after = page.Keys[len(page.Keys)-1].Name
	}
	if k.JSON {
		return nil
	}
	return printKeys(e, all)
}

// printKeys prints a table of keys.
func printKeys(e *env, list []httpapi.KeyView) error {
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tTEAM\tSTATE\tFROM\tEXPIRES\tLIMITS\tBEGINS WITH")
	for i := range list {
		v := &list[i]
		var texts []string
		for _, t := range v.Texts {
			text := t.Public
			if !t.Until.IsZero() {
				text += " (until " + t.Until.Format(time.RFC3339) + ")"
			}
			texts = append(texts, text)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plaintext.Line(v.Name), orDash(v.Team), v.State, v.Origin, orDash(v.Expires), limitsText(v.Limits), orDash(strings.Join(texts, ", ")))
	}
	return w.Flush()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return plaintext.Line(text)
}

// keyName is the key that a command is about.
type keyName struct {
	operatorFlags
	Name string `arg:"" help:"Name of the key."`
}

func (k *keyName) path() string { return "/admin/keys/" + url.PathEscape(k.Name) }

// do asks for a change, and prints what became of the key.
func (k *keyName) do(e *env, method, path string) error {
	var v httpapi.KeyView
	if err := k.ask(e, method, path, nil, &v); err != nil || k.JSON {
		return err
	}
	return printKeys(e, []httpapi.KeyView{v})
}

type keyShowCmd struct{ keyName }

// Run prints a key.
func (k *keyShowCmd) Run(e *env) error {
	k.JSON = true
	return k.do(e, http.MethodGet, k.path())
}

type keyRotateCmd struct {
	keyName
	Overlap time.Duration `help:"How long the old text stays valid; 0s ends it at once." default:"24h"`
}

// Run makes a new text.
func (k *keyRotateCmd) Run(e *env) error {
	return k.made(e, http.MethodPost, k.path()+"/rotate", map[string]string{"overlap": k.Overlap.String()})
}

type keyBlockCmd struct{ keyName }

// Run blocks a key.
func (k *keyBlockCmd) Run(e *env) error { return k.do(e, http.MethodPost, k.path()+"/block") }

type keyUnblockCmd struct{ keyName }

// Run frees a key.
func (k *keyUnblockCmd) Run(e *env) error { return k.do(e, http.MethodPost, k.path()+"/unblock") }

type keyDeleteCmd struct{ keyName }

// Run deletes a key.
func (k *keyDeleteCmd) Run(e *env) error {
	if err := k.ask(e, http.MethodDelete, k.path(), nil, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "deleted: %s\n", k.Name)
	return err
}

type teamCmd struct {
	Create teamCreateCmd `cmd:"" help:"Create a team at a running gateway."`
	List   teamListCmd   `cmd:"" help:"List the teams of a running gateway."`
	Show   teamShowCmd   `cmd:"" help:"Show a team of a running gateway."`
	Delete teamDeleteCmd `cmd:"" help:"Delete a team that has no keys."`
}

type teamCreateCmd struct {
	operatorFlags
	scopeFlags
	Name string `arg:"" help:"Name of the team."`
}

// Run makes a team.
func (t *teamCreateCmd) Run(e *env) error {
	body := map[string]any{"name": t.Name}
	if err := t.into(body); err != nil {
		return err
	}
	var v httpapi.TeamView
	if err := t.ask(e, http.MethodPost, "/admin/teams", body, &v); err != nil || t.JSON {
		return err
	}
	return printTeams(e, []httpapi.TeamView{v})
}

type teamListCmd struct{ operatorFlags }

// Run prints all teams.
func (t *teamListCmd) Run(e *env) error {
	var all struct {
		Teams []httpapi.TeamView `json:"teams"`
	}
	if err := t.ask(e, http.MethodGet, "/admin/teams", nil, &all); err != nil || t.JSON {
		return err
	}
	return printTeams(e, all.Teams)
}

func printTeams(e *env, list []httpapi.TeamView) error {
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKEYS\tFROM\tMODELS\tMAX TOKENS\tLIMITS")
	for i := range list {
		v := &list[i]
		most := "-"
		if v.MaxTokens != nil {
			most = fmt.Sprint(*v.MaxTokens)
		}
		models := "all"
		if v.Models != nil {
			models = orDash(strings.Join(v.Models, ", "))
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", plaintext.Line(v.Name), v.Keys, v.Origin, models, most, limitsText(v.Limits))
	}
	return w.Flush()
}

type teamName struct {
	operatorFlags
	Name string `arg:"" help:"Name of the team."`
}

func (t *teamName) path() string { return "/admin/teams/" + url.PathEscape(t.Name) }

type teamShowCmd struct{ teamName }

// Run prints a team.
func (t *teamShowCmd) Run(e *env) error {
	t.JSON = true
	return t.ask(e, http.MethodGet, t.path(), nil, nil)
}

type teamDeleteCmd struct{ teamName }

// Run deletes a team.
func (t *teamDeleteCmd) Run(e *env) error {
	if err := t.ask(e, http.MethodDelete, t.path(), nil, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "deleted: %s\n", t.Name)
	return err
}
