package console

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/history"
)

// Words for operators: what the gateway's own names mean. A name without words is shown as it is.

// reasons say why an attempt was made.
var reasons = map[string]string{ //nolint:gochecknoglobals // a table
	string(gateway.First):     "first try",
	string(gateway.Retry):     "tried again",
	string(gateway.Fallback):  "went to another target",
	string(gateway.Reask):     "asked again: the model was told what was wrong with its call",
	string(gateway.Forced):    "asked again: the model was told to make the call that it only claimed",
	string(gateway.Corrected): "asked again: the model was told what its tools had really answered",
}

// marks are what a request that was not clean is shown and filtered by, the worst first.
var marks = []markWord{ //nolint:gochecknoglobals // a table
	{history.MarkFailed, "failed", "Failed", Bad},
	{history.MarkBroken, "broken", "Not repairable", Bad},
	{history.MarkGhost, "ghost", "Claim without a call", Bad},
	{history.MarkRefused, "refused", "Refused upstream", Fair},
	{history.MarkFallback, "fallback", "Fallback", Fair},
	{history.MarkRetry, "retry", "Retried", Fair},
	{history.MarkReask, "reask", "Asked again", Fair},
	{history.MarkRepaired, "repaired", "Repaired", Good},
	{history.MarkTool, "tool", "Tool failed", Fair},
	{history.MarkWarning, "odd", "Odd", Fair},
}

type markWord struct {
	Mark  history.Mark
	Key   string // in a link
	Word  string
	Level Level
}

// say gives the words of a table for a name, or the name.
func say(table map[string]string, name string) string {
	if words := table[name]; words != "" {
		return words
	}
	return name
}
