package state

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/wire"
)

// GetResponse answers GET /v1/responses/{id}.
func (s *Service) GetResponse(ctx context.Context, c Call) ([]byte, error) {
	r, err := s.response(ctx, c)
	if err != nil {
		return nil, err
	}
	return whole(r, c.includes()), nil
}

// response reads a response. One that waits or runs although no gateway runs it has failed.
func (s *Service) response(ctx context.Context, c Call) (*store.Response, error) {
	if strings.HasPrefix(c.ID, summaryPrefix) {
		return nil, missing("Response", c.ID)
	}
	r, err := s.shelf.store.GetResponse(ctx, c.Tenant, c.ID)
	if err != nil {
		return nil, s.shelf.failed(err, "Response", c.ID)
	}
	if !isRunning(r.Body) {
		return r, nil
	}
	held, err := s.shelf.store.Locked(ctx, c.Tenant, c.ID)
	if err != nil {
		return nil, s.shelf.failed(err, "Response", c.ID)
	}
	if held {
		return r, nil
	}
	// It may have ended between the two looks.
	if r, err = s.shelf.store.GetResponse(ctx, c.Tenant, c.ID); err != nil {
		return nil, s.shelf.failed(err, "Response", c.ID)
	}
	if isRunning(r.Body) {
		r.Body = withStatus(r.Body, responses.Failed, `{"code":"server_error","message":"The gateway was stopped while it ran this response."}`)
	}
	return r, nil
}

// whole is a response with its output.
func whole(r *store.Response, sealed bool) []byte {
	at := output(r.Body)
	if at.Empty() {
		return r.Body
	}
	b := appendItems(append(slices.Clone(r.Body[:at.Start]), '['), r.Output, sealed)
	return append(append(b, ']'), r.Body[at.End:]...)
}

func status(response []byte) string { return wire.Unquote(valueOf(response, "status")) }

func isRunning(response []byte) bool {
	s := status(response)
	return s == responses.Queued || s == responses.InProgress
}

// withStatus is a response with another status, and an error.
func withStatus(response []byte, status, failure string) []byte {
	return wire.Splice(response, []wire.Edit{
		{At: wire.Find(response, wire.Span{End: len(response)}, "status"), With: wire.AppendQuoted(nil, status)},
		{At: wire.Find(response, wire.Span{End: len(response)}, "error"), With: []byte(failure)},
	})
}

// DeleteResponse answers DELETE /v1/responses/{id}. A response that runs is ended.
func (s *Service) DeleteResponse(ctx context.Context, c Call) ([]byte, error) {
	if strings.HasPrefix(c.ID, summaryPrefix) {
		return nil, missing("Response", c.ID)
	}
	if run := s.runs.find(c.Tenant, c.ID); run != nil {
		run.end(errDeleted)
		select {
		case <-run.over:
		case <-ctx.Done(): // what is deleted before its end does not come back
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), saveTime)
			defer cancel()
		}
	}
	if err := s.shelf.store.DeleteResponse(ctx, c.Tenant, c.ID); err != nil {
		return nil, s.shelf.failed(err, "Response", c.ID)
	}
	return deleted(c.ID, "response"), nil
}

// InputItems answers GET /v1/responses/{id}/input_items.
func (s *Service) InputItems(ctx context.Context, c Call) ([]byte, error) {
	if strings.HasPrefix(c.ID, summaryPrefix) {
		return nil, missing("Response", c.ID)
	}
	return s.shelf.list(ctx, c, "Response", s.shelf.store.ListInput)
}

// CancelResponse answers POST /v1/responses/{id}/cancel.
func (s *Service) CancelResponse(ctx context.Context, c Call) ([]byte, error) {
	if run := s.runs.find(c.Tenant, c.ID); run != nil {
		run.end(errCancelled)
		select {
		case <-run.over:
		case <-ctx.Done():
			return nil, gateway.Ended(ctx)
		}
	}
	r, err := s.response(ctx, c)
	if err != nil {
		return nil, err
	}
	if string(valueOf(r.Body, "background")) != "true" {
		return nil, invalid("response_id", "Only responses with \"background\": true can be cancelled.")
	}
	if isRunning(r.Body) { // in another gateway, which sees it at the end
		r.Body = withStatus(r.Body, responses.Cancelled, "null")
		if err := s.shelf.store.PutResponse(ctx, c.Tenant, r, false); err != nil {
			return nil, s.shelf.failed(err, "Response", c.ID)
		}
	}
	return whole(r, false), nil
}

// Why a run ends before its time.
var (
	errCancelled = errors.New("the response was cancelled")
	errDeleted   = errors.New("the response was deleted")
	errStopped   = errors.New("the gateway was stopped")
)
