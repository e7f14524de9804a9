package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Prompt is a question that fits the script. Any other gets the same answers.
const Prompt = "Book a table in Oslo, with the weather and the time in mind."

// Tools are the script's tools as OpenAI's chat completions offer them.
const Tools = `[{"type":"function","function":{"name":"get_weather","description":"The weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},` +
	`{"type":"function","function":{"name":"get_time","description":"The time of day.","parameters":{"type":"object","properties":{}}}},` +
	`{"type":"function","function":{"name":"book","description":"Books a table.","parameters":{"type":"object","properties":{"city":{"type":"string"},"note":{"type":"string"}},"required":["city","note"]}}}]`

// Result is what the tool called name gives in [Loop], a text of its own for each.
func Result(name string) string {
	switch name {
	case "get_weather":
		return `4 °C, "rain" & wind`
	case "get_time":
		return "18:30"
	case "book":
		return "table 7 at 19:00"
	}
	return "there is no tool called " + name
}

// conversation is what a wire's request says, in no vendor's terms.
type conversation struct {
	messages []message
	tools    map[string]bool // the names offered; none if the model must not call
}

// message is a user's text, a model's text and calls, or the result of one call.
type message struct {
	role   string // system, user, assistant or tool
	text   string
	calls  []call
	answer string // for a result: the id of its call
}

type call struct{ id, name, arguments string }

// turn is what the model says next.
type turn struct {
	text  string
	calls []call // without ids
}

// next plays the script.
func next(c conversation) turn {
	for _, name := range []string{"get_weather", "get_time", "book"} {
		if !c.tools[name] {
			return turn{text: "Hello from the script."}
		}
	}
	results := c.results()
	weather, hasWeather := results["get_weather"]
	now, hasTime := results["get_time"]
	booked, hasBooked := results["book"]
	switch {
	case hasBooked:
		return turn{text: "Done: " + booked + "."}
	case hasWeather && hasTime:
		return turn{calls: []call{{name: "book", arguments: bookArguments(weather, now)}}}
	}
	return turn{calls: []call{{name: "get_weather", arguments: `{"city": "Oslo"}`}, {name: "get_time", arguments: `{}`}}}
}

// results are the texts that the tools gave since the user last spoke, by name.
func (c conversation) results() map[string]string {
	results, names := map[string]string{}, map[string]string{}
	for _, m := range c.messages {
		switch m.role {
		case "user":
			clear(results)
		case "assistant":
			for _, call := range m.calls {
				names[call.id] = call.name
			}
		case "tool":
			results[names[m.answer]] = m.text
		}
	}
	return results
}

// calls counts the calls of the conversation so far.
func (c conversation) calls() int {
	n := 0
	for _, m := range c.messages {
		n += len(m.calls)
	}
	return n
}

// bookArguments are those of the call that needs both results.
func bookArguments(weather, now string) string {
	note, _ := json.Marshal(weather + ", " + now) // a string cannot fail
	return `{"city": "Oslo", "note": ` + string(note) + `}`
}

// opaqueID makes an id as most vendors do, for the nth call of a conversation. The
// same call has the same id in every run.
func opaqueID(prefix string, n int) string {
	sum := sha256.Sum256(fmt.Append(nil, prefix, n))
	return prefix + hex.EncodeToString(sum[:12])
}
