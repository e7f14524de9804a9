package clients_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// maxTurns ends a loop in which the model calls again and again.
const maxTurns = 8

// atOnce is how many jobs a client plays at the same time. Most of their time they wait.
const atOnce = 8

// each plays jobs of which play plays one. It must not end the test.
func each(play func(t *testing.T, j job) []turn) func(t *testing.T, jobs []job) []turn {
	return func(t *testing.T, jobs []job) []turn {
		t.Helper()
		played := make([][]turn, len(jobs))
		free := make(chan struct{}, atOnce)
		var all sync.WaitGroup
		for i, j := range jobs {
			free <- struct{}{}
			all.Go(func() {
				played[i] = play(t, j)
				<-free
			})
		}
		all.Wait()
		return slices.Concat(played...)
	}
}

// app is one Go client with its own types: M is a message of a conversation.
type app[M any] struct {
	// ask sends the messages and returns what came, and the message to go on with.
	ask func(messages []M) (turn, M, error)
	// result is the message that gives a call its result, user one of the user.
	result func(id, text string) M
	user   func(text string) M
	// failure is an error as the client shows it.
	failure func(error) failure
}

// play plays one job.
func (a app[M]) play(j job, messages []M) []turn {
	var turns []turn
	for n := range maxTurns {
		got, answer, err := a.ask(messages)
		got.Job = j.Name
		if err != nil {
			f := a.failure(err)
			return append(turns, turn{Job: j.Name, Error: &f})
		}
		turns = append(turns, got)
		if len(got.Calls) == 0 {
			break
		}
		messages = append(messages, answer)
		for _, c := range got.Calls {
			messages = append(messages, a.result(c.ID, j.Results[c.Name]))
		}
		if n < len(j.Then) {
			messages = append(messages, a.user(j.Then[n]))
		}
	}
	return turns
}

var errChoices = errors.New("the answer does not have one choice")

// newCall is a call whose arguments must be a JSON object.
func newCall(id, name, arguments string) (call, error) {
	c := call{ID: id, Name: name}
	if err := json.Unmarshal([]byte(arguments), &c.Arguments); err != nil {
		return call{}, fmt.Errorf("arguments %q of %s: %w", arguments, name, err)
	}
	return c, nil
}

func requestID(h http.Header) string { return h.Get("X-Request-Id") }
