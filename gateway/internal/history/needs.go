package history

// Needs says what an upstream demands of a conversation. The provider's adapter
// declares it. The zero value demands nothing.
type Needs struct {
	// Arguments says that the upstream reads the arguments of every call, which must
	// be a JSON object.
	Arguments bool
	// Pairs says that every call must have its result directly behind its message or
	// behind that message's other results, and every result its call.
	Pairs bool
	// IDs is the form that the ids of calls must have.
	IDs IDForm
}

// links says whether the calls and results have to be brought together.
func (n Needs) links() bool { return n.Pairs || n.IDs != AnyID }

// IDForm is a form that an upstream demands of the ids of calls. All but AnyID
// also demand that no two calls of a conversation share one.
type IDForm uint8

// The forms of ids.
const (
	// AnyID is every text that is not empty.
	AnyID IDForm = iota
	// KimiID is functions.NAME:N, where N counts the calls of the conversation from 0.
	// Kimi K2 has learnt its calls with these ids and stops calling when it sees
	// others; see docs/tool_call_guidance.md of MoonshotAI/Kimi-K2.
	KimiID
	// AnthropicID is 1 to 64 of the letters, digits, _ and -: Anthropic's Messages API
	// refuses others.
	AnthropicID
	// ShortID has at most 40 bytes: OpenAI's API refuses longer ones.
	ShortID
	// MistralID is 9 letters and digits: Mistral's API refuses others.
	MistralID
)
