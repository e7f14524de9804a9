package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/callgate/callgate/examples/adstudio/studio"
	"github.com/callgate/callgate/examples/adstudio/tools"
	"github.com/callgate/callgate/examples/adstudio/voices"
)

// inPrompt is how many voices the prompt holds that is compared.
const inPrompt = 50

// tokens asks the running gateway twice, with the search tool and with voices in the prompt in
// its place, and prints the prompts' tokens as the upstream counts them.
func tokens(ctx context.Context, s settings) error {
	functions, err := offered(ctx)
	if err != nil {
		return err
	}
	list, err := json.MarshalIndent(voices.Catalogue()[:inPrompt], "", "  ")
	if err != nil {
		return err
	}
	client := openai.NewClient(option.WithBaseURL("http://"+s.gateway+"/v1"), option.WithAPIKey(s.key))
	ask := func(instructions string, list []responses.ToolUnionParam) (int64, error) {
		resp, err := client.Responses.New(ctx, responses.ResponseNewParams{
			Model: s.model + "-title", Instructions: openai.String(instructions), Tools: list, Store: openai.Bool(false), // a model to which no tools are attached
			Input:      responses.ResponseNewParamsInputUnion{OfString: openai.String("A spot for Baan Coffee in Chiang Mai.")},
			ToolChoice: responses.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: openai.Opt(responses.ToolChoiceOptionsNone)},
		})
		if err != nil {
			return 0, err
		}
		return resp.Usage.InputTokens, nil
	}
	const search = "search_voices"
	var others []responses.ToolUnionParam
	for _, f := range functions {
		if f.OfFunction.Name != search {
			others = append(others, f)
		}
	}
	searched, err := ask(studio.Instructions, functions)
	if err != nil {
		return err
	}
	listed, err := ask(studio.Instructions+"\nThe voices:\n"+string(list)+"\n", others)
	if err != nil {
		return err
	}
	fmt.Printf("%-44s %6d tokens\n%-44s %6d tokens\n%-44s %6d tokens a request\n",
		fmt.Sprintf("with %s (%d voices behind it)", search, len(voices.Catalogue())), searched,
		fmt.Sprintf("with %d voices in the prompt", inPrompt), listed, "less", listed-searched)
	return nil
}

// offered are the MCP server's tools, as functions of a request.
func offered(ctx context.Context) ([]responses.ToolUnionParam, error) {
	here, there := mcp.NewInMemoryTransports()
	if _, err := tools.NewServer(nil).Connect(ctx, there, nil); err != nil {
		return nil, err
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tokens"}, nil).Connect(ctx, here, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var functions []responses.ToolUnionParam
	for _, t := range list.Tools {
		schema, ok := t.InputSchema.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the tool %s has no schema", t.Name)
		}
		functions = append(functions, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{Name: t.Name, Description: openai.String(t.Description), Parameters: schema}})
	}
	return functions, nil
}
