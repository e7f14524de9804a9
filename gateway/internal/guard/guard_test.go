package guard_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

func hasSignal(v guard.Verdict, name string) bool {
	for _, s := range v.Signals {
		if s.Name == name {
			return true
		}
	}
	return false
}

func TestRequired(t *testing.T) {
	t.Parallel()
	two := []string{"get_weather", "list_tasks"}
	for _, c := range []struct {
		name   string
		tools  []string
		choice guard.Choice
		answer guard.Answer
		ghost  bool
		tool   string
	}{
		{"none called", two, guard.Choice{Required: true}, guard.Answer{Text: "Hello!"}, true, ""},
		{"nothing said", two, guard.Choice{Required: true}, guard.Answer{}, true, ""},
		{"one tool", two[:1], guard.Choice{Required: true}, guard.Answer{Text: "Hello!"}, true, "get_weather"},
		{"a refusal", two, guard.Choice{Required: true}, guard.Answer{Text: "I'm sorry, I can't do that."}, true, ""},
		{"one called", two, guard.Choice{Required: true}, guard.Answer{Calls: []string{"list_tasks"}}, false, ""},
		{"named", two, guard.Choice{Tool: "get_weather"}, guard.Answer{Text: "Hello!"}, true, "get_weather"},
		{"another than the named one", two, guard.Choice{Tool: "get_weather"}, guard.Answer{Calls: []string{"list_tasks"}}, true, "get_weather"},
		{"the named one", two, guard.Choice{Tool: "get_weather"}, guard.Answer{Calls: []string{"get_weather"}}, false, ""},
		{"no tools", nil, guard.Choice{Required: true}, guard.Answer{Text: "Hello!"}, false, ""},
		{"free", two, guard.Choice{}, guard.Answer{Text: "Hello!"}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.answer.Done = true
			v := guard.New(guard.Settings{}).Begin(ledger.New(userSays(t, "Hi."), nil), c.tools, c.choice).Judge(c.answer)
			if v.Ghost != c.ghost || v.Tool != c.tool || hasSignal(v, guard.SignalRequired) != c.ghost {
				t.Errorf("got %+v, want ghost %v and tool %q", v, c.ghost, c.tool)
			}
		})
	}
}

// TestNoTools: without a tool that may be called there is nothing that should have been.
func TestNoTools(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Settings{})
	answer := guard.Answer{Text: "Done! I've deleted the task.", Done: true}
	for _, c := range []struct {
		name   string
		tools  []string
		choice guard.Choice
	}{{"none offered", nil, guard.Choice{}}, {"none allowed", []string{"delete_task"}, guard.Choice{None: true}}} {
		k := g.Begin(ledger.New(userSays(t, "Delete the task."), nil), c.tools, c.choice)
		if v := k.Judge(answer); v.Ghost || v.Score != 0 {
			t.Errorf("%s: got %+v, want no ghost", c.name, v)
		}
		if k.Undecided(guard.Answer{Text: "Done!"}) {
			t.Errorf("%s: got text held back, want it let through", c.name)
		}
	}
}

func TestThreshold(t *testing.T) {
	t.Parallel()
	answer := guard.Answer{Text: "I've deleted the task.", Done: true}
	for threshold, want := range map[float64]bool{0: true, 0.5: true, 0.99: false} {
		g := guard.New(guard.Settings{Threshold: threshold})
		if v := g.Begin(ledger.New(userSays(t, "Delete the task."), nil), []string{"delete_task"}, guard.Choice{}).Judge(answer); v.Ghost != want {
			t.Errorf("threshold %v: got ghost %v by %.2f, want %v", threshold, v.Ghost, v.Score, want)
		}
	}
}

func TestIntents(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Settings{Intents: []guard.Intent{
		{Match: []string{"delete", "get rid of", "lösch*", "удал*"}, Expect: "delete_task"},
		{Match: []string{"天气", "weather"}, Expect: "get_weather"},
		{Match: []string{"mail"}, Expect: "not_offered"},
		{Match: []string{"/rm", "#task-*", "🗑️"}, Expect: "delete_task"},
		{Match: []string{"", "  "}, Expect: "delete_task"},
	}})
	tools := []string{"delete_task", "get_weather"}
	for _, c := range []struct {
		name, user, answer string
		intent, ghost      bool
	}{
		{"a word", "Delete it", "There is a lot to say about tasks.", true, true},
		{"of several words", "I want to get  rid\nof it", "There is a lot to say about tasks.", true, true},
		{"inside another word", "undeleted things", "There is a lot to say about tasks.", false, false},
		{"with any ending", "Löschst du das?", "Aufgaben sind etwas Schönes.", true, true},
		{"Cyrillic", "УДАЛИТЕ её", "Задачи бывают разные.", true, true},
		{"without spaces", "今天北京天气怎么样", "北京是一座很大的城市。", true, true},
		{"a tool that is not offered", "mail it", "Tasks are fine.", false, false},
		{"a question back", "delete it", "Which task do you mean?", true, false},
		{"a refusal", "delete it", "I'm sorry, I can't delete that one for you.", true, false},
		{"a command", "/rm 17", "There is a lot to say about tasks.", true, true},
		{"a command behind words", "now (/RM 17)", "There is a lot to say about tasks.", true, true},
		{"a sign and any ending", "#task-17", "There is a lot to say about tasks.", true, true},
		{"a picture", "🗑️ 17", "There is a lot to say about tasks.", true, true},
		{"a part of a path", "look at usr/rm", "There is a lot to say about tasks.", false, false},
		{"the beginning of another command", "/rmdir", "There is a lot to say about tasks.", false, false},
		{"no word of it", "hello", "Hello!", false, false},
		{"in a clause that tells", "I'm done with what you delete, thanks", "You're welcome!", false, false},
		{"of what was done", "Thanks for the weather", "Any time.", false, false},
		{"behind a clause that tells", "I'm late, delete it", "There is a lot to say about tasks.", true, true},
		{"with a wish in it", "I'm sure you can delete it please", "There is a lot to say about tasks.", true, true},
		{"a German that tells", "Ich habe das schon gelöscht, lösch dich nicht ab", "Gut.", true, false},
		{"a picture alone", "🗑️", "There is a lot to say about tasks.", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := g.Begin(ledger.New(userSays(t, c.user), nil), tools, guard.Choice{}).Judge(guard.Answer{Text: c.answer, Done: true})
			if hasSignal(v, guard.SignalIntent) != c.intent || v.Ghost != c.ghost {
				t.Errorf("got %+v, want intent %v and ghost %v", v, c.intent, c.ghost)
			}
		})
	}
}

// TestIntentMet: a call of this turn meets a rule, one of an earlier turn does not, and an
// answer with the call needs nothing else.
func TestIntentMet(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Settings{Intents: []guard.Intent{{Match: []string{"delete"}, Expect: "delete_task"}}})
	const user, call, result = `{"role":"user","content":"delete it"}`,
		`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"delete_task","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"1","content":"{\"ok\":true}"}`
	for _, c := range []struct {
		name     string
		messages []string
		calls    []string
		want     bool
	}{
		{"called", []string{user, call, result}, nil, false},
		{"called before", []string{user, call, result, user}, nil, true},
		{"called now", []string{user}, []string{"delete_task"}, false},
	} {
		k := g.Begin(ledger.New(conversation.Read([]byte("["+strings.Join(c.messages, ",")+"]")), nil), []string{"delete_task"}, guard.Choice{})
		if got := hasSignal(k.Judge(guard.Answer{Text: "So it goes.", Calls: c.calls, Done: true}), guard.SignalIntent); got != c.want {
			t.Errorf("%s: got intent %v, want %v", c.name, got, c.want)
		}
	}
}

func TestLongAnswers(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Settings{})
	filler := strings.Repeat("The sea is blue and the hills are green. ", 4000)
	for name, text := range map[string]string{
		"claim at the beginning":                  "I've deleted the task. " + filler,
		"claim at the end":                        filler + "I've deleted the task.",
		"claim behind a block that the cut opens": "```\n" + filler + "\n```\nI've deleted the task.",
	} {
		if v := g.Begin(ledger.New(userSays(t, "Delete the task."), nil), []string{"delete_task"}, guard.Choice{}).Judge(guard.Answer{Text: text, Done: true}); !v.Ghost {
			t.Errorf("%s: got %+v, want a ghost", name, v)
		}
	}
}

// TestCut: the end of an answer that was cut off announces nothing.
func TestCut(t *testing.T) {
	t.Parallel()
	k := guard.New(guard.Settings{}).Begin(ledger.New(userSays(t, "Delete the task."), nil), []string{"delete_task"}, guard.Choice{})
	for finish, want := range map[string]bool{"stop": true, "length": false} {
		if got := hasSignal(k.Judge(guard.Answer{Text: "I'll delete the task", Finish: finish, Done: true}), guard.SignalPromise); got != want {
			t.Errorf("finish_reason %s: got promise %v, want %v", finish, got, want)
		}
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Settings{Intents: []guard.Intent{{Match: []string{"delete"}, Expect: "delete_task"}}})
	var wait sync.WaitGroup
	for range 8 {
		chat := userSays(t, "Delete the task.") // a conversation is of one request
		wait.Go(func() {
			for range 50 {
				if v := g.Begin(ledger.New(chat, nil), []string{"delete_task"}, guard.Choice{}).Judge(guard.Answer{Text: "I've deleted it.", Done: true}); !v.Ghost {
					t.Errorf("got %+v, want a ghost", v)
				}
			}
		})
	}
	wait.Wait()
}

// TestReadOnly: a tool that is declared to read is never owed a change, whatever its name says.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Settings{})
	c := userSays(t, "Can you restart the build?")
	for hint, want := range map[string]bool{"false": true, "true": false} {
		tools := `[{"type":"function","function":{"name":"restart_build","annotations":{"readOnlyHint":` + hint + `}}}]`
		v := g.Begin(ledger.New(c, []byte(tools)), []string{"restart_build"}, guard.Choice{}).Judge(guard.Answer{Text: "I've restarted the build.", Finish: "stop", Done: true})
		if v.Ghost != want {
			t.Errorf("readOnlyHint %s: got ghost %v by %.2f for %v, want %v", hint, v.Ghost, v.Score, v.Signals, want)
		}
	}
}

// TestRejected holds that a claim counts for more where the model has called a tool before, and the call was given back
// to it: nothing has been done then.
func TestRejected(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rejected, answer string
		ghost            bool
	}{
		{"complete_task", "Done! I've completed the task.", true},
		{"complete_task", "I can't find a task of that name. Which one do you mean?", false},
		{"complete_task", "There is no such task on your list, so I have not completed anything.", false},
		{"list_tasks", "There are three tasks on your list.", false},
		{"", "There is no such task on your list.", false},
	} {
		k := guard.New(guard.Settings{}).Begin(ledger.New(userSays(t, "Buy milk is done."), nil), []string{"complete_task", "list_tasks"}, guard.Choice{})
		if v := k.Judge(guard.Answer{Text: row.answer, Done: true, Rejected: row.rejected}); v.Ghost != row.ghost {
			t.Errorf("%q behind a call of %q: got ghost %v (%.2f, %v), want %v", row.answer, row.rejected, v.Ghost, v.Score, v.Signals, row.ghost)
		}
	}
}
