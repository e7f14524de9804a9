package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// rendered is a page's body, what search finds in it, and the pictures that it shows.
type rendered struct {
	body     template.HTML
	parts    []found
	pictures []string
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// render makes a page of a document.
func render(d document, docs []document, from string) (r rendered, err error) {
	ctx := parser.NewContext(parser.WithIDs(&anchors{seen: map[string]int{}}))
	tree := markdown.Parser().Parse(text.NewReader(d.text), parser.WithContext(ctx))
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			to, err := target(d, string(n.Destination), docs, from)
			n.Destination = []byte(to)
			return ast.WalkContinue, err
		case *ast.Image:
			picture := path.Join(path.Dir(d.file), string(n.Destination))
			if !slices.Contains(r.pictures, picture) {
				r.pictures = append(r.pictures, picture)
			}
		case *ast.RawHTML, *ast.HTMLBlock:
			if raw := source(n, d.text); !strings.HasPrefix(strings.TrimSpace(raw), "<!--") {
				return ast.WalkStop, fmt.Errorf("%q would be lost; write it in backticks or in Markdown: %w", raw, errHTML)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return r, err
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, d.text, tree); err != nil {
		return r, err
	}
	// A table may be wider than a screen, and scrolls in a box that keys reach.
	html := strings.NewReplacer("<table>", `<div class="wide" tabindex="0" role="region" aria-label="Table"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`).Replace(b.String())
	r.body = template.HTML(html) //nolint:gosec // goldmark has escaped it, and passes no HTML of the document on
	r.parts = partsOf(d, tree)
	return r, nil
}

var errHTML = errors.New("pages have no HTML of their own")

// source is a node as the document has it.
func source(n ast.Node, text []byte) string {
	if raw, ok := n.(*ast.RawHTML); ok {
		return string(raw.Segments.Value(text))
	}
	return string(n.Lines().Value(text))
}

// target is where a link of a document leads: to a page, or to a file of the repository.
func target(d document, link string, docs []document, from string) (string, error) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") || strings.HasPrefix(link, "mailto:") {
		return link, nil
	}
	file, fragment, has := strings.Cut(link, "#")
	if has {
		fragment = "#" + fragment
	}
	file = path.Join(path.Dir(d.file), file)
	for _, other := range docs {
		if other.file == file {
			to, err := filepath.Rel(path.Dir(d.url), other.url)
			return filepath.ToSlash(to) + fragment, err
		}
	}
	if _, err := os.Stat(filepath.Join(from, filepath.FromSlash(file))); err != nil {
		return "", fmt.Errorf("a link to %s, which is not there", file)
	}
	return repository + file + fragment, nil
}

// partsOf are the parts of a page: what stands below each heading.
func partsOf(d document, tree ast.Node) (parts []found) {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			url := d.url
			if len(parts) > 0 { // the first is the page itself
				url += "#" + string(anchor)
			}
			parts = append(parts, found{URL: url, Page: d.title, Title: strings.TrimSpace(plain(n, d.text))})
		} else if len(parts) > 0 {
			last := &parts[len(parts)-1]
			last.Text = strings.TrimSpace(last.Text + " " + strings.Join(strings.Fields(plain(n, d.text)), " "))
		}
	}
	return parts
}

// plain is the text of a node, without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // what it calls gives no error
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				for i := range n.Lines().Len() {
					line := n.Lines().At(i)
					b.Write(line.Value(source))
				}
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchors makes the ids of headings, as GitHub does: links work there and here.
type anchors struct{ seen map[string]int }

var leftOut = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// Generate implements [parser.IDs].
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.ReplaceAll(leftOut.ReplaceAllString(strings.ToLower(strings.TrimSpace(string(value))), ""), " ", "-")
	n := a.seen[id]
	if a.seen[id]++; n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements [parser.IDs].
func (a *anchors) Put(value []byte) { a.seen[string(value)]++ }
