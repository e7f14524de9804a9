package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"
)

// ToolUse is how the gateway runs tools for the requests of a model: those of ToolServers.
type ToolUse struct {
	// Servers are those whose tools every request is offered, without the client's doing. A
	// client may name others itself. Default: none.
	Servers []string `yaml:"servers" omit:"true" eg:"[github]" doc:"Tool servers whose tools every request for the model is offered, without the client's doing; the header x-callgate-tools: off turns them off. Default: none."`
	// MaxRounds is how many rounds of calls there may be. Default 15, 1 to 100.
	MaxRounds int `yaml:"max_rounds" eg:"15" min:"1" max:"100" doc:"How many rounds of calls a request may have; then the model is asked for its last answer. Default: 15."`
	// WarnAt is from which share of MaxRounds on the model is told how many are left. Default
	// 0.8.
	WarnAt float64 `yaml:"warn_at" eg:"0.8" min:"0.1" max:"1" doc:"Share of max_rounds from which on the model is told how many rounds are left. Default: 0.8."`
	// IdleRounds is how many rounds in a row may bring nothing new. Default 3, 1 to 100.
	IdleRounds int `yaml:"idle_rounds" eg:"3" min:"1" max:"100" doc:"How many rounds in a row may bring nothing new; then the model is asked for its last answer. Default: 3."`
	// Parallel is how many calls of a round run at once. Default 8, 1 to 64.
	Parallel int `yaml:"parallel" eg:"8" min:"1" max:"64" doc:"How many calls of a round run at once. Default: 8."`
	// Attempts is how often a call of an idempotent tool is made. Default 2, 1 to 5.
	Attempts int `yaml:"attempts" eg:"2" min:"1" max:"5" doc:"How often a call is made that fails for a reason that may pass, if its tool is idempotent; others are made once. Default: 2."`
	// Timeout bounds rounds and tools together. Default 120s, 1s to 1h.
	Timeout Duration `yaml:"timeout" eg:"120s" min:"1s" max:"1h" doc:"For all rounds and calls of a request; the model's first answer alone is not bounded by it. Default: 120s."`
	// AnswerTime is the part of Timeout that is kept for the last answer. Default 20s, at most
	// half of Timeout.
	AnswerTime Duration `yaml:"answer_time" eg:"20s" min:"100ms" max:"30m" doc:"Part of timeout that is kept for the model's last answer; at most half of it. Default: 20s."`
	// ToolTimeout bounds one attempt of a call whose server has no timeout. Default 10s.
	ToolTimeout Duration `yaml:"tool_timeout" eg:"10s" min:"100ms" max:"10m" doc:"For one attempt of a call, where its server says nothing else. Default: 10s."`
	// MaxResult is how much of one result the model is told. Default 64KiB.
	MaxResult Size `yaml:"max_result" eg:"64KiB" min:"1KiB" max:"1MiB" doc:"How much of one result the model is told. Default: 64KiB."`
	// MaxResults is how much of all results of a request the model is told. Default 256KiB.
	MaxResults Size `yaml:"max_results" eg:"256KiB" min:"1KiB" max:"16MiB" doc:"How much of all results of a request the model is told. Default: 256KiB."`
	// Taint is what is done about a call of a tool that writes, once a result may hold a
	// stranger's text: "approve" (default) asks the client, "report" says so, "off" does nothing.
	Taint string `yaml:"taint" enum:"off,report,approve" eg:"approve" doc:"A call that writes, behind a result that may hold a stranger's text (untrusted): approve asks the client first, report says so, off does nothing. Default: approve."`
	// ApprovalTTL is how long a client may take to agree to a call. Default 10m, 10s to 10m.
	ApprovalTTL Duration `yaml:"approval_ttl" eg:"5m" min:"10s" max:"10m" doc:"How long a client may take to agree to a call. Default: 10m."`
}

// fillTools fills in the defaults of what a route says of tools; nothing where it says nothing,
// so that configurations without tools have no word of them.
func fillTools(own, all ToolUse) ToolUse {
	if reflect.ValueOf(own).IsZero() && reflect.ValueOf(all).IsZero() {
		return ToolUse{}
	}
	out := ToolUse{
		Servers:     ownList(own.Servers, all.Servers),
		MaxRounds:   cmp.Or(own.MaxRounds, all.MaxRounds, 15),
		WarnAt:      cmp.Or(own.WarnAt, all.WarnAt, 0.8),
		IdleRounds:  cmp.Or(own.IdleRounds, all.IdleRounds, 3),
		Parallel:    cmp.Or(own.Parallel, all.Parallel, 8),
		Attempts:    cmp.Or(own.Attempts, all.Attempts, 2),
		Timeout:     cmp.Or(own.Timeout, all.Timeout, Duration(120*time.Second)),
		AnswerTime:  cmp.Or(own.AnswerTime, all.AnswerTime, Duration(20*time.Second)),
		ToolTimeout: cmp.Or(own.ToolTimeout, all.ToolTimeout, Duration(10*time.Second)),
		MaxResult:   cmp.Or(own.MaxResult, all.MaxResult, 64<<10),
		MaxResults:  cmp.Or(own.MaxResults, all.MaxResults, 256<<10),
		Taint:       cmp.Or(own.Taint, all.Taint, "approve"),
		ApprovalTTL: cmp.Or(own.ApprovalTTL, all.ApprovalTTL, Duration(10*time.Minute)),
	}
	out.AnswerTime = min(out.AnswerTime, out.Timeout/2)
	return out
}

// checkToolUse refuses servers that are not there.
func (c *Config) checkToolUse(r *report, p path, own ToolUse) {
	for i, name := range own.Servers {
		at := p.Key("servers").At(i)
		switch _, ok := c.ToolServers[name]; {
		case ok && slices.Index(own.Servers, name) < i:
			r.add(at, "%s is named already; keep one of them", r.src.show(at, name))
		case ok:
		case len(c.ToolServers) == 0:
			r.add(at, "there is no tool server %s; declare it in tool_servers", r.src.show(at, name))
		default:
			r.add(at, "there is no tool server %s; those of tool_servers are %s", r.src.show(at, name), strings.Join(sortedKeys(c.ToolServers), ", "))
		}
	}
	if own.Timeout > 0 && own.AnswerTime > own.Timeout/2 && !r.isBad(p.Key("answer_time")) {
		r.add(p.Key("answer_time"), "that is more than half of timeout: %s; raise timeout, or lower this", own.Timeout)
	}
}

// checkKeyTools refuses patterns that can match no tool.
func (c *Config) checkKeyTools(r *report) {
	check := func(p path, patterns []string) {
		for i, pattern := range patterns {
			if strings.Trim(pattern, "*_-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || pattern == "" {
				r.add(p.At(i), "%s cannot be the name of a tool; write for example github__search_*", r.src.show(p.At(i), pattern))
			}
		}
	}
	for i, k := range c.Keys {
		check(path("keys").At(i).Key("tools"), k.Tools)
	}
	for _, name := range sortedKeys(c.Teams) {
		check(path("teams").Key(name).Key("tools"), c.Teams[name].Tools)
	}
}
