package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/headers"
)

const (
	modelsTimeout = 5 * time.Second
	maxModels     = 4 << 20 // bytes of the list
)

// Models gets a list of models in the form of OpenAI's, {"data": [{"id": …}]}, and
// returns the ids in the upstream's order. It takes no longer than five seconds and
// reads no more than 4 MiB. The upstream is told how many gateways have asked, since it
// may be one that asks back.
func (p *Client) Models(ctx context.Context, u *url.URL) ([]string, error) {
	c := p.begin(ctx)
	defer c.end()
	c.req = p.request(c.ctx, http.MethodGet, u, p.headerRules.request(http.Header{"Via": headers.Via(headers.HopsOf(ctx))}))
	delete(c.req.Header, "Content-Type")
	limit := time.AfterFunc(modelsTimeout, func() {
		c.cancel(p.Errorf(gateway.Timeout, CodeTimeout, "no list of models within %s.", Plain(modelsTimeout)))
	})
	defer limit.Stop()

	resp, body, err := c.send()
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := c.readJSON(resp, body, maxModels)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		e := p.Errorf(gateway.Unavailable, CodeUpstream, "the upstream's list of models has another form than OpenAI's.")
		e.Err = p.Safe(err)
		return nil, e
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	return ids, nil
}
