package clients_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
)

// The modes in which clients ask.
const (
	whole  = "whole"
	helper = "helper" // a stream that the SDK puts together
	chunks = "chunks" // a stream that the app puts together
)

// client is one SDK.
type client struct {
	name  string
	modes []string
	// retries is how often the SDK repeats a request by itself, and repeats, where it is
	// not nil, which statuses it does that for, whatever x-should-retry says.
	retries int
	repeats func(status int) bool
	// answerIDs and errorIDs say whether the SDK shows the request id of an answer, and
	// of an error.
	answerIDs, errorIDs bool
	// streamErrors says that the SDK throws an error in a stream as one of its own class.
	streamErrors bool
	// play plays jobs, some of them at the same time, and returns the turns of all. Those
	// of one job are in their order.
	play func(t *testing.T, jobs []job) []turn
}

// clients are all. What those of Python and Node need is installed at most once.
func clients(t *testing.T) []client {
	t.Helper()
	py := inPython{sync.OnceValues(func() (string, error) { return installPython(t.Context()) })}
	js := inNode{sync.OnceValues(func() (nodeSDKs, error) { return installNode(t.Context()) })}
	all, two := []string{whole, helper, chunks}, []string{whole, helper}
	return []client{
		{name: "python", modes: all, retries: 2, answerIDs: true, errorIDs: true, streamErrors: true, play: py.play("openai_sdk")},
		{name: "node", modes: all, retries: 2, answerIDs: true, errorIDs: true, streamErrors: true, play: js.play("openai_sdk")},
		{name: "go", modes: two, retries: 2, answerIDs: true, errorIDs: true, streamErrors: true, play: each(official)},
		{name: "go responses", modes: two, retries: 2, answerIDs: true, errorIDs: true, streamErrors: true, play: each(officialResponses)},
		{name: "go-openai", modes: []string{whole, chunks}, answerIDs: true, streamErrors: true, play: each(community)},
		{name: "ai-sdk", modes: two, retries: 1, repeats: serverError, answerIDs: true, errorIDs: true, play: js.play("ai_sdk", "openai-compatible")},
		{name: "ai-sdk openai", modes: two, retries: 1, repeats: serverError, answerIDs: true, errorIDs: true, play: js.play("ai_sdk", "openai")},
		{name: "langchain python", modes: two, retries: 2, answerIDs: true, errorIDs: true, streamErrors: true, play: py.play("langchain_chat")},
		{name: "langchain node", modes: two, retries: 1, repeats: unknownFault, errorIDs: true, streamErrors: true, play: js.play("langchain")},
	}
}

// serverError is what the AI SDK repeats.
func serverError(status int) bool { return status >= http.StatusInternalServerError }

// unknownFault is what LangChain repeats in Node: all that it does not know for a fault of the
// request.
func unknownFault(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusUnprocessableEntity
}

// job is one conversation: the client asks, gives the calls their results, and asks
// again until there are none.
type job struct {
	Name     string            `json:"name"`
	BaseURL  string            `json:"base_url"`
	Model    string            `json:"model"`
	Mode     string            `json:"mode"`
	Messages []message         `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
	Results  map[string]string `json:"results"` // what each tool gives
	// Then is what the user says behind the results of the first round of calls, of the
	// second, and so on. Nothing is said behind those of the others.
	Then []string `json:"then"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// turn is what the app got in one turn of a job, or the error that ended the job.
type turn struct {
	Job       string   `json:"job"`
	Content   string   `json:"content"`
	Calls     []call   `json:"calls"`
	Finish    string   `json:"finish"`
	Usage     *usage   `json:"usage"`
	RequestID string   `json:"request_id"`
	Error     *failure `json:"error"`
}

type call struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// failure is an error as the SDK shows it.
type failure struct {
	Type      string `json:"type"` // the error's class
	Message   string `json:"message"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
	API       bool   `json:"api"` // it is of the class that apps catch
}
