package clients_test

import (
	"maps"
	"net/http"
	"os"
	"testing"
)

// openTasks is what the tool list_tasks gives.
const openTasks = `[{"id":"task-17","title":"Buy milk"},{"id":"task-18","title":"Call Ann"}]`

// rounds are how many rounds of calls the guarded loops may have.
const rounds = 5

// guardScenarios have models of the demo whose answers are of no use without a guard,
// each with its guard and without.
func guardScenarios() []scenario {
	const (
		deletes   = `Delete the task "Groceries".`
		completes = `Complete the task "Buy milk".`
		lists     = `Which tasks are open?`
		notDone   = "Tool not triggered"
	)
	limited := func(action string) map[string]any {
		return map[string]any{"loop_guard": action, "max_rounds": rounds, "idle_rounds": rounds}
	}
	return []scenario{
		{name: "ghost unguarded", shape: tasks(deletes), serve: guarded("ghost", nil),
			want: []turn{{Finish: "stop", Content: "Done! I've deleted the task \"Groceries\"."}}},
		{name: "ghost", shape: tasks(deletes), serve: guarded("ghost", map[string]any{"guard": "enforce"}), want: []turn{
			calling("delete_task", map[string]any{"title": "Groceries"}), found("deleted")}},
		{name: "ghost always", shape: tasks(deletes), serve: guarded("ghost_always", map[string]any{"guard": "enforce"}),
			want: failed(http.StatusBadGateway, "tool_not_triggered", notDone)},
		{name: "by title unresolved", shape: tasks(completes), serve: guarded("by_title", map[string]any{"resolve_references": "off"}),
			want: completed("Buy milk")},
		{name: "by title", shape: tasks(completes), serve: guarded("by_title", nil), want: completed("task-17")},
		{name: "loops unguarded", shape: tasks(lists), serve: guarded("loops", nil), want: listing(maxTurns)},
		{name: "loops answered", shape: tasks(lists), serve: guarded("loops", limited("answer")),
			want: append(listing(rounds), found(openTasks))},
		{name: "loops refused", shape: tasks(lists), serve: guarded("loops", limited("refuse")),
			want: append(listing(rounds), failed(http.StatusUnprocessableEntity, "max_iterations_exceeded", "the limit is 5")...)},
	}
}

// guarded has a model of the demo behind a model with keys of its own.
func guarded(name string, keys map[string]any) func(t *testing.T, c *config, model string) verdict {
	return func(t *testing.T, c *config, model string) verdict {
		v := demo(name)(t, c, model)
		maps.Copy(c.Models[model], keys)
		return v
	}
}

// tasks has the user ask something of an app that keeps tasks.
func tasks(prompt string) func(t *testing.T, j *job) {
	return func(t *testing.T, j *job) {
		tools, err := os.ReadFile("testdata/tasks.json")
		if err != nil {
			t.Fatal(err)
		}
		j.Tools, j.Messages = tools, []message{{"user", prompt}}
		j.Results = map[string]string{"list_tasks": openTasks, "delete_task": "deleted", "complete_task": "completed"}
	}
}

// calling is a turn with one call.
func calling(name string, arguments map[string]any) turn {
	return turn{Finish: "tool_calls", Content: "Let me check.", Calls: []call{{Name: name, Arguments: arguments}}}
}

// found is the answer with a result.
func found(result string) turn {
	return turn{Finish: "stop", Content: "Here is what I found: " + result}
}

// completed are the turns in which a task is looked up and then completed.
func completed(id string) []turn {
	return []turn{
		calling("list_tasks", map[string]any{}), calling("complete_task", map[string]any{"id": id}), found("completed"),
	}
}

// listing are turns that all have the same call.
func listing(n int) []turn {
	turns := make([]turn, n)
	for i := range turns {
		turns[i] = calling("list_tasks", map[string]any{})
	}
	return turns
}
