package httpapi

import "log/slog"

// The members of a request's line in the log that a trace is made of; see package
// tracelog, which reads them. They are there only if the gateway notes prompts.
const (
	logBlocks = "prefix_blocks" // prefix.Chain.Text
	logBytes  = "prompt_bytes"
	logRoute  = "prompt_route"
	logInput  = "input_tokens" // this one and the next only if the upstream counts them
	logOutput = "output_tokens"
)

// promptAttrs are what a trace of requests is made of.
func (rec *record) promptAttrs() (attrs []slog.Attr) {
	s := rec.summary
	if s == nil || s.Prompt == nil {
		return nil
	}
	attrs = append(attrs, slog.String(logRoute, rec.route), slog.Int(logBytes, s.Prompt.Bytes))
	if u := s.Usage; u.Reported {
		attrs = append(attrs, slog.Int(logInput, u.Input), slog.Int(logOutput, u.Output))
	}
	return append(attrs, slog.String(logBlocks, s.Prompt.Blocks.Text()))
}
