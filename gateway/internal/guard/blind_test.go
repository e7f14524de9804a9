package guard_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// blindClasses are the classes a conversation may have, by its label.
var blindClasses = map[string][]string{
	"ghost": {
		"claim_done", "claim_lookup", "promise", "required_ignored", "intent_ignored", "call_as_text", "undeclared_call",
	},
	"fine": {
		"called", "refusal", "question", "no_tool_needed", "after_result", "tool_error", "confirm_first", "past_turn",
		"hypothetical", "conditional",
	},
	"contradiction": {"contradiction"},
}

// blindSet is the number of a set's conversations, so that a truncated file shows. The mistakes of one that is spent
// were looked at after its measurement, and rules were changed by them: no certain ghost of it is missed any more.
type blindSet struct {
	size  int
	spent bool
}

var blindSets = map[string]blindSet{"blind.jsonl": {160, true}, "blind2.jsonl": {96, true}, "blind3.jsonl": {157, false}}

// blindPrecision is the least precision of ghosts. It is far below the aim: the sets exist to print honest figures,
// and this bound only shows a collapse.
const blindPrecision = 0.80

// TestBlind prints the figures on conversations whose author had not seen the rules or the lexicons. The sets are not
// to be fitted: whoever changes a rule because of a case in one writes a new set.
func TestBlind(t *testing.T) {
	t.Parallel()
	for file, set := range blindSets {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			checkBlind(t, file, set)
		})
	}
}

func checkBlind(t *testing.T, file string, set blindSet) {
	t.Helper()
	examples := readExamples(t, filepath.Join("testdata", file))
	if len(examples) != set.size {
		t.Fatalf("got %d conversations, want %d", len(examples), set.size)
	}
	all, english, others := newTally(), newTally(), newTally()
	seen := map[string]bool{}
	for i := range examples {
		e := &examples[i]
		if fault := malformed(e); fault != "" || seen[e.ID] {
			t.Fatalf("conversation %d (%q) is malformed or its id is taken: %s", i+1, e.ID, fault)
		}
		seen[e.ID] = true
		all.judge(t, e)
		if e.Lang == "en" {
			english.judge(t, e)
		} else {
			others.judge(t, e)
		}
	}
	t.Logf("all\n%v", all)
	t.Logf("English\n%v", english)
	t.Logf("other languages\n%v", others)
	if set.spent && len(all.missed) > 0 {
		t.Errorf("got the certain ghosts %v missed, want none", all.missed)
	}
	raised := all.ghosts.rightly + all.ghosts.wrongly
	if got := ratio(all.ghosts.rightly, raised); got < blindPrecision {
		t.Errorf("precision of ghosts: got %.3f, want at least %.2f", got, blindPrecision)
	}
}

// malformed says what is wrong with a conversation of the set, or nothing.
func malformed(e *example) string {
	var messages []struct{ Role string }
	if err := json.Unmarshal(e.Messages, &messages); err != nil {
		return "messages: " + err.Error()
	}
	switch calls := len(e.Answer.ToolCalls) > 0; {
	case !strings.HasPrefix(e.ID, "blind"), e.Lang == "":
		return "no id or no language"
	case !slices.Contains(blindClasses[e.Label], e.Class):
		return "class " + e.Class + " does not belong to label " + e.Label
	case e.Certain && e.Label == "fine":
		return "certain is for ghosts and contradictions"
	case len(e.Tools) < len(`[{}]`):
		return "no tools"
	case len(messages) == 0 || !slices.Contains([]string{"user", "tool"}, messages[len(messages)-1].Role):
		return "the last message is neither the user's nor a tool's"
	case e.Answer.Content == "" && !calls:
		return "empty answer"
	case calls != (e.Class == "called"), calls != (e.Finish == "tool_calls"):
		return "calls do not agree with the class or the finish reason"
	}
	return ""
}
