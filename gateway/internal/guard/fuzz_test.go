package guard_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// FuzzJudge judges any text, as an answer to any text, and finds every time what it found
// the first time.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{
		"I've deleted the task.", "✅ Done!", "Ich habe sie gelöscht.", "已删除。", "タスクを削除しました。", "تم حذف المهمة", "हटा दिया है",
		`{"name":"delete_task","arguments":{}}`, "<delete_task>", "delete_task(id=3)", "```\n", "> a\n", "„a“ «b» 'c' \"d\"", "<think>", "14 °C, 3.5 km/h.",
		"Action: delete_task\nAction Input: {", "- [x] a.go", "—¡Hola!", "1. 2) a@b.c https://x.y/z", "\xff\x00\x01\x02\x03\x04",
	} {
		f.Add(s, s, true)
		f.Add(s, "Delete it.", false)
	}
	g := guard.New(guard.Settings{Intents: []guard.Intent{{Match: []string{"delete"}, Expect: "delete_task"}}})
	tools := []string{"delete_task", "get_weather", "bash"}
	f.Fuzz(func(t *testing.T, text, user string, required bool) {
		k := g.Begin(ledger.New(userSays(t, user), nil), tools, guard.Choice{Required: required})
		k.Undecided(guard.Answer{Text: text})
		v := k.Judge(guard.Answer{Text: text, Done: true})
		if v.Score < 0 || v.Score > 1 || required && !v.Ghost {
			t.Errorf("got %+v, want a score from 0 to 1, and a ghost where a call is required", v)
		}
		for _, s := range v.Signals {
			if s.Weight < -1 || s.Weight > 1 || len(s.Detail) > 300 {
				t.Errorf("got the signal %+v, want a weight from -1 to 1 and a short detail", s)
			}
		}
		if again := k.Judge(guard.Answer{Text: text, Done: true}); again.Score != v.Score || again.Tool != v.Tool {
			t.Errorf("got %+v, then %+v", v, again)
		}
	})
}
