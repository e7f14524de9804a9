package conformance_test

import (
	"slices"
	"testing"

	"github.com/callgate/callgate/conformance"
)

// symptoms are what users of gateways and of inference servers report most about tool
// calls. testdata/symptoms has cases for each, called NN_NAME.
var symptoms = []string{
	"01_finish_reason_hides_length",
	"02_arguments_not_closed",
	"03_several_calls_in_one_delta",
	"04_streaming_disagrees",
	"05_zero_arguments",
	"06_markers_leak",
	"07_call_in_think",
	"08_long_argument_in_one_piece",
	"09_finish_reason_stop",
	"10_index_always_zero",
	"11_parse_failure_kills_request",
	"12_own_closing_tag",
	"13_types",
	"14_markup_in_code",
	"15_ids_not_unique",
}

// TestSymptoms checks that each symptom has its case, which asks whole and streamed and
// says what the deltas, or how many the pieces of the arguments, are. TestGateway and
// TestParsers run them.
func TestSymptoms(t *testing.T) {
	t.Parallel()
	cases := readSuite(t)
	for _, name := range symptoms {
		i := slices.IndexFunc(cases, func(c conformance.Case) bool { return c.Name == "symptoms/"+name })
		if i < 0 {
			t.Errorf("there is no symptoms/%s.txtar", name)
			continue
		}
		c := &cases[i]
		if c.Model == nil || !c.Has(conformance.Chat) || !c.Has(conformance.Stream) || c.Want.Answers == nil || c.Want.Events == nil {
			t.Errorf("%s has to have a model.jsonl, an answer whole and streamed, and events", c.Name)
		}
		if c.Want.Stream == nil && c.Want.Deltas == 0 {
			t.Errorf("%s has to have a stream.jsonl or a number of deltas", c.Name)
		}
	}
}
