package repair

import "strings"

// What problems of arguments say, and problems of answers instead. The words are for models, which
// are told of their own text.
const (
	ofArguments = "The arguments"
	ofAnswer    = "The answer"
	misfit      = "The arguments do not fit the tool's schema: "
	misfits     = "The answer does not fit the schema: "
	hintSchema  = "Call the tool again with arguments that fit its schema."
)

var answerHints = map[string]string{
	hintCut:      "Answer again, and complete.",
	hintStrict:   "Answer with one value of strict JSON and nothing else: no code fence, no text around it, keys and strings in double quotes.",
	hintRepeated: "Give each key once.",
	hintText:     "Write characters in UTF-8, or as complete \\u escapes.",
	hintDeep:     "Nest the answer less deep.",
	hintSchema:   "Answer again with JSON that fits the schema.",
}

// verbs stand behind "The arguments" in problems.
var verbs = strings.NewReplacer("are not valid", "is not valid", "hold no", "holds no", "begin more", "begins more", "are ", "is ")

// forAnswer is a problem in the words for answers.
func forAnswer(p *Problem) *Problem {
	out := *p
	switch rest, ok := strings.CutPrefix(p.Message, misfit); {
	case ok:
		out.Message = misfits + rest
	case strings.HasPrefix(p.Message, ofArguments):
		first, rest, _ := strings.Cut(strings.TrimPrefix(p.Message, ofArguments), ".")
		out.Message = ofAnswer + verbs.Replace(first) + "." + rest
	}
	if hint, ok := answerHints[p.Hint]; ok {
		out.Hint = hint
	}
	return &out
}

// CheckAnswer is [Schemas.Check] for an answer and the schema that it was asked to fit. The path
// of a required member that is missing is its own.
func (s *Schemas) CheckAnswer(schema, answer []byte) (problem *Problem, checked bool) {
	problem, checked = s.check(schema, answer, true)
	if problem != nil {
		problem = forAnswer(problem)
	}
	return problem, checked
}
