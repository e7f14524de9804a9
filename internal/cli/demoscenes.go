package cli

import (
	"encoding/json"
	"fmt"
	"slices"
)

// guardScene is a conversation that goes wrong without a guard.
type guardScene struct {
	title  string
	direct string // the model, asked directly
	route  string // the entry of config that the app asks through the gateway
	config string // the lines below "models:"
	prompt string
	tools  string // "" for none
	choice string // tool_choice of the first request, "" for none
}

// demoUpstream is the provider that the configurations of guard scenes name. The same
// upstream is asked directly.
const demoUpstream = `
  upstream: {type: openai, base_url: "${UPSTREAM}"}
`

// guardScenes are those that the demo shows.
func guardScenes() []guardScene {
	return slices.Concat(ghostScenes(), bindingScenes(), loopScenes(), referenceScenes(), dateScenes())
}

func ghostScenes() []guardScene {
	return []guardScene{
		{
			title:  "A model that says it is done, and has called nothing: said to the app, which is the default",
			direct: "ghost", route: "reported", prompt: deletePrompt, tools: taskTools,
			config: `
  reported:
    guard: report
    targets: [{provider: upstream, model: ghost}]
`,
		},
		{
			title:  "The same, and the call is demanded",
			direct: "ghost", route: "enforced", prompt: deletePrompt, tools: taskTools,
			config: `
  enforced:
    guard: enforce
    targets: [{provider: upstream, model: ghost}]
`,
		},
		{
			title:  "The same, and a judge is asked before the call is demanded",
			direct: "ghost", route: "judged", prompt: deletePrompt, tools: taskTools,
			config: `
  judged:
    guard: enforce
    guard_judge: upstream/judge
    targets: [{provider: upstream, model: ghost}]
`,
		},
		{
			title:  "One that does not call even then: an error takes the place of the answer",
			direct: "ghost_always", route: "stubborn", prompt: deletePrompt, tools: taskTools,
			config: `
  stubborn:
    guard: enforce
    targets: [{provider: upstream, model: ghost_always}]
`,
		},
	}
}

func bindingScenes() []guardScene {
	return []guardScene{
		{
			title:  "A model that never sees the tools, though the app demands a call: said to the app, which is the default",
			direct: "ignores_tools", route: "tools_lost", prompt: "List my tasks.", tools: taskTools, choice: "required",
			config: `
  tools_lost:
    tool_binding: report
    targets: [{provider: upstream, model: ignores_tools}]
`,
		},
		{
			title:  "The same, and such an answer is not given out: the next target is asked",
			direct: "ignores_tools", route: "rebound", prompt: "List my tasks.", tools: taskTools, choice: "required",
			config: `
  rebound:
    tool_binding: refuse
    guard: enforce   # it holds streams, so that there is another try
    targets:
      - {provider: upstream, model: ignores_tools}
      - {provider: upstream, model: native}
`,
		},
		{
			title:  "An upstream that cannot take tools: they go into the prompt, in the model's own form",
			direct: "no_tools/hermes", route: "prompted", prompt: demoPrompt, tools: demoTools,
			config: `
  prompted:
    targets: [{provider: upstream, model: no_tools/hermes, tools: prompted, parser: hermes}]
`,
		},
	}
}

func loopScenes() []guardScene {
	return []guardScene{
		{
			title:  "A model that calls the same tool again and again: it has to answer with what it has",
			direct: "loops", route: "answered", prompt: manualPrompt, tools: manualTools,
			config: `
  answered:
    loop_guard: answer
    targets: [{provider: upstream, model: loops}]
`,
		},
		{
			title:  "The same, and the app is told",
			direct: "loops", route: "refused", prompt: manualPrompt, tools: manualTools,
			config: `
  refused:
    loop_guard: refuse
    idle_rounds: 2
    targets: [{provider: upstream, model: loops}]
`,
		},
	}
}

func referenceScenes() []guardScene {
	return []guardScene{
		{
			title:  "A title in the place of an id: the tool's schema says " + titleReference,
			direct: "by_title", route: "declared", prompt: completePrompt, tools: taskToolsWithReference,
			config: `
  declared:
    resolve_references: repair   # the default
    targets: [{provider: upstream, model: by_title}]
`,
		},
		{
			title:  "The same, where the configuration says it",
			direct: "by_title", route: "referenced", prompt: completePrompt, tools: taskTools,
			config: `
  referenced:
    references:
      - {tool: complete_task, argument: id, from: list_tasks, match: title, value: id}
    targets: [{provider: upstream, model: by_title}]
`,
		},
	}
}

func dateScenes() []guardScene {
	return []guardScene{{
		title:  "A model that does not know the date",
		direct: "native", route: "dated", prompt: "Which day is today?",
		config: `
  dated:
    date_context: Europe/Berlin
    targets: [{provider: upstream, model: native}]
`,
	}}
}

const (
	deletePrompt   = "Delete task 3."
	completePrompt = `Complete "Buy milk".`
	manualPrompt   = "What does the manual say about Quokkas?"
)

const (
	manualTools    = `[{"type":"function","function":{"name":"search_manual","parameters":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}}]`
	titleReference = `"x-reference":{"tool":"list_tasks","match":"title","value":"id"}`

	listTool   = `{"type":"function","function":{"name":"list_tasks","description":"Lists the tasks of the user, with their ids.","parameters":{"type":"object","properties":{}}}}`
	deleteTool = `{"type":"function","function":{"name":"delete_task","description":"Deletes a task for good.","parameters":{"type":"object","properties":{"id":{"type":"integer","description":"Id of the task, as list_tasks gives it"}},"required":["id"]}}}`

	completeBegin = `{"type":"function","function":{"name":"complete_task","description":"Marks a task as completed.","parameters":{"type":"object","properties":{"id":{"type":"integer","description":"Id of the task, as list_tasks gives it"`
	completeEnd   = `}},"required":["id"]}}}`

	taskTools              = "[" + listTool + "," + deleteTool + "," + completeBegin + completeEnd + "]"
	taskToolsWithReference = "[" + listTool + "," + deleteTool + "," + completeBegin + "," + titleReference + completeEnd + "]"
)

// runTool is the app's side of a call: what its tools answer.
func runTool(c demoCall) string {
	switch c.name {
	case "get_weather":
		return "12 degrees"
	case "get_time":
		return "14:05"
	case "search_manual":
		return "No results."
	case "list_tasks":
		return `[{"id":3,"title":"Buy milk"},{"id":7,"title":"Call Ada"}]`
	case "delete_task":
		return changeTask("Deleted", c.args)
	case "complete_task":
		return changeTask("Completed", c.args)
	}
	return fmt.Sprintf("Error: there is no tool %q.", c.name)
}

// changeTask answers for a tool that needs the id of a task.
func changeTask(done, args string) string {
	var call struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(args), &call); err != nil {
		return "Error: the arguments are not JSON."
	}
	if id := string(call.ID); id != "3" && id != "7" {
		return fmt.Sprintf("Error: no task has the id %s.", id)
	}
	return fmt.Sprintf("%s task %s.", done, call.ID)
}
