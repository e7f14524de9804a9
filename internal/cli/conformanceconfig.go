package cli

import (
	"fmt"
	"strings"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/internal/digest"
)

// suiteConfigCmd prints the configuration of a gateway under test.
type suiteConfigCmd struct {
	For            string `arg:"" optional:"" enum:"callgate,litellm,list" default:"callgate" help:"Gateway: callgate, litellm, or list for the models that any other needs."`
	UpstreamListen string `help:"Address on which the suite will play the upstream." default:"127.0.0.1:9090" placeholder:"ADDR"`
	Key            string `env:"CALLGATE_CONFORMANCE_KEY" help:"Key that the suite will send." placeholder:"KEY"`
	ModelPrefix    string `help:"Prefix of the models' names." placeholder:"TEXT"`
}

// Run prints it.
func (c *suiteConfigCmd) Run(e *env) error {
	cases, err := conformance.Cases()
	if err != nil {
		return err
	}
	readers := conformance.Readers(cases)
	upstream := "http://" + c.UpstreamListen + "/v1"
	switch c.For {
	case "litellm":
		fmt.Fprint(e.stdout, litellmConfig(readers, upstream, c.ModelPrefix))
	case "list":
		for _, reader := range readers {
			parser, open := strings.CutSuffix(reader, "-open")
			what := "text read by " + parser
			switch {
			case reader == "responses" || reader == "messages":
				what = "which speaks " + reader + " beside chat completions"
			case open:
				what += ", the prompt has begun the reasoning"
			}
			fmt.Fprintf(e.stdout, "%s%s: upstream %s, its model upstream-%s, %s\n", c.ModelPrefix, reader, upstream, reader, what)
		}
	default:
		fmt.Fprint(e.stdout, callgateConfig(readers, upstream, c.Key, c.ModelPrefix))
	}
	return nil
}

// callgateConfig has a model for each reader of the suite's cases. The times are wide
// where a busy machine would fail a case about text, and the breaker is, since a case
// that fails must not fail the next. The limits are those of the suite's cases, and so is
// the server: one that reads the calls of the conversation so far.
func callgateConfig(readers []string, upstream, key, prefix string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# For callgate conformance, which plays the upstream.
providers:
  suite:
    type: openai
    base_url: %[1]q
    server: vllm
    history: repair
    forward_headers: [x-vendor-option]
    retry: {base_delay: 100ms, max_delay: 500ms}
    circuit_breaker: {failure_threshold: 1000}
  suite_messages:
    type: anthropic
    base_url: %[1]q
    retry: {base_delay: 100ms, max_delay: 500ms}
    circuit_breaker: {failure_threshold: 1000}
parsers:
  my_format: {start: "<<call ", end: ">>", body: name_json}
plugins: {dir: "", limits: {time: 10s, total: 60s}}
limits: {body: 4MiB}
admin: {listen: off}
`, upstream)
	if key != "" {
		fmt.Fprintf(&b, "keys:\n  - {name: suite, hash: %q}\n", digest.Of([]byte(key)))
	}
	b.WriteString("models:\n")
	for _, reader := range readers {
		parser, open := strings.CutSuffix(reader, "-open")
		provider, settings := "suite", "parser: "+parser
		switch {
		case reader == "messages": // its upstream speaks that beside chat completions
			provider, settings = "suite_messages", "parser: none"
		case reader == "responses":
			settings = "parser: none"
		case open:
			settings += ", reasoning: open"
		}
		fmt.Fprintf(&b, "  %q: {targets: [{provider: %s, model: upstream-%s, %s}]}\n", prefix+reader, provider, reader, settings)
	}
	return b.String()
}

// litellmConfig has the same models for LiteLLM's proxy, of version 1.106. It reads no text of
// models, so a run is with --without tools,reasoning. It does not start without a key. Its own
// retries and cool-downs are off, and what is asked for in another protocol it turns into chat
// completions, since that is what the upstream speaks.
func litellmConfig(readers []string, upstream, prefix string) string {
	var b strings.Builder
	b.WriteString(`# For LiteLLM: LITELLM_MASTER_KEY=sk-… litellm --config FILE
# and then: callgate conformance --key sk-… --without tools,reasoning, which plays the upstream.
general_settings: {master_key: os.environ/LITELLM_MASTER_KEY}
litellm_settings: {num_retries: 0, use_chat_completions_url_for_anthropic_messages: true}
router_settings: {num_retries: 0, disable_cooldowns: true}
model_list:
`)
	for _, reader := range readers {
		provider, base, more := "openai", upstream, ", use_chat_completions_api: true"
		switch reader {
		case "responses":
			more = ""
		case "messages":
			provider, base, more = "anthropic", strings.TrimSuffix(upstream, "/v1"), ""
		}
		fmt.Fprintf(&b, "  - {model_name: %q, litellm_params: {model: %s/upstream-%s, api_base: %q, api_key: unused, max_retries: 0%s}}\n",
			prefix+reader, provider, reader, base, more)
	}
	return b.String()
}
