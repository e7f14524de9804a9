package gateway

// Client is whose request it is: the key that it came with, and what that key may do. It is made once
// for each request and not changed then; a request of a gateway without keys has none.
type Client struct {
	// Key is the key's name, and Team that of its team, "" for none.
	Key, Team string
	// Labels are the key's own and its team's, for the rows of usage.
	Labels map[string]string
	// Models are patterns of the models that it may ask for, with * for any text, and Tools of the
	// tools of the gateway's servers, as server__tool. nil allows all, an empty list none.
	Models, Tools []string
	// MaxTokens is the most output tokens that a request may ask for; 0 is no limit.
	MaxTokens int
	// Arms are the arms of rollouts that it may choose by a header, as rollout/arm with * for any
	// text; nil is none.
	Arms []string
}
