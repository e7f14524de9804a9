package scripted

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// What the resource of [Azure] has.
const (
	// Deployment is the one deployment.
	Deployment = "gpt-4o-prod"
	// FilteredPrompt is a word that the content filter refuses in a request.
	FilteredPrompt = "a forbidden word"
)

// azureSafe is what the content filter says of every text here.
const azureSafe = `{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"},"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}`

// azurePrompt is what it says of a prompt.
const azurePrompt = `"prompt_filter_results":[{"prompt_index":0,"content_filter_results":` + azureSafe + `}]`

// Azure serves a resource of Azure OpenAI at the endpoint URL: the dated API, with
// the deployment in the path and the version in the query, and the v1 API. Its
// streams begin with a chunk that has no choices.
func Azure(t testing.TB) *Server {
	t.Helper()
	s := openAIStyle()
	s.choice, s.answer = `,"content_filter_results":`+azureSafe, ","+azurePrompt
	s.first = `{"choices":[],"created":0,"id":"","model":"","object":"",` + azurePrompt + `}`
	return wire{
		admit:  admitAzure,
		rules:  rules{id: shortID},
		refuse: openAIWords,
		broken: openAIError("We could not parse the JSON body of your request.", "", ""),
		id:     func(_ string, n int) string { return opaqueID("call_", n) },
		write:  s.write,
	}.serve(t)
}

func admitAzure(r *http.Request, req *chatRequest) *refusal {
	if r.Header.Get("Api-Key") != Key {
		return azureError(http.StatusUnauthorized, "401", "Access denied due to invalid subscription key or wrong API endpoint. "+
			"Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.")
	}
	if refused := admitAzurePath(r, req); refused != nil {
		return refused
	}
	for _, m := range req.Messages {
		if strings.Contains(contentText(m.Content), FilteredPrompt) {
			return &refusal{http.StatusBadRequest, azureFiltered}
		}
	}
	return nil
}

func admitAzurePath(r *http.Request, req *chatRequest) *refusal {
	version := r.URL.Query().Get("api-version")
	deployment, dated := strings.CutPrefix(r.URL.Path, "/openai/deployments/")
	deployment, chat := strings.CutSuffix(deployment, "/chat/completions")
	switch {
	case r.Method != http.MethodPost:
		return azureError(http.StatusNotFound, "404", "Resource not found")
	case r.URL.Path == "/openai/v1/chat/completions":
		deployment = req.Model
		if version != "" && version != "preview" && version != "v1" {
			return azureError(http.StatusBadRequest, "BadRequest", "API version not supported")
		}
	case !dated || !chat || strings.Contains(deployment, "/") || version == "":
		return azureError(http.StatusNotFound, "404", "Resource not found")
	case !slices.Contains([]string{"2024-06-01", "2024-10-21", "2025-04-01-preview"}, version):
		return azureError(http.StatusBadRequest, "BadRequest", "API version not supported")
	}
	if deployment != Deployment {
		return azureError(http.StatusNotFound, "DeploymentNotFound", "The API deployment for this resource does not exist. "+
			"If you created the deployment within the last 5 minutes, please wait a moment and try again.")
	}
	return nil
}

// azureError is the error of Azure's own machinery, in front of the model.
func azureError(status int, code, message string) *refusal {
	return &refusal{status, mustJSON(map[string]any{"error": map[string]any{"code": code, "message": message}})}
}

// azureFiltered is the answer to a prompt that the content filter refuses.
const azureFiltered = `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. ` +
	`Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766",` +
	`"type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{` +
	`"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":false,"detected":false},"self_harm":{"filtered":false,"severity":"safe"},` +
	`"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":true,"severity":"medium"}}}}}`
