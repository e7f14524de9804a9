package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// repository is where files are shown that are no pages of the site.
const repository = "https://github.com/callgate/callgate/blob/main/"

//go:embed page
var assets embed.FS

// marker is a file by which a folder is known to be a site that build has made.
const marker = "search.js"

var errNotSite = errors.New("the folder is there, and is no site that this program has written")

// entry is a page in the list of all.
type entry struct {
	URL, Title string
	Here       bool
}

// shown is what the template of a page needs.
type shown struct {
	Title string
	Root  string // how the page gets to the site's root
	Pages []entry
	Body  template.HTML
}

// found is a part of a page as search has it: below one heading.
type found struct {
	URL   string `json:"u"`
	Page  string `json:"p"`
	Title string `json:"h"`
	Text  string `json:"x"`
}

// build makes the site anew and returns how many pages it has. A folder that is there already
// must be a site.
func build(from, to string) (pages int, err error) {
	if _, err := os.Stat(to); err == nil {
		if _, err := os.Stat(filepath.Join(to, marker)); err != nil {
			return 0, fmt.Errorf("%s: %w", to, errNotSite)
		}
		if err := os.RemoveAll(to); err != nil {
			return 0, err
		}
	}
	docs, err := read(from)
	if err != nil {
		return 0, err
	}
	layout, err := template.ParseFS(assets, "page/page.html")
	if err != nil {
		return 0, err
	}
	var index []found
	for _, d := range docs {
		r, err := render(d, docs, from)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", d.file, err)
		}
		index = append(index, r.parts...)
		page := shown{Title: d.title, Root: strings.Repeat("../", strings.Count(d.url, "/")), Body: r.body}
		for _, other := range docs {
			page.Pages = append(page.Pages, entry{page.Root + other.url, other.title, other.url == d.url})
		}
		var b bytes.Buffer
		if err := layout.Execute(&b, page); err != nil {
			return 0, err
		}
		if err := write(to, d.url, b.Bytes()); err != nil {
			return 0, err
		}
		for _, picture := range r.pictures {
			text, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(picture)))
			if err != nil {
				return 0, err
			}
			if err := write(to, picture, text); err != nil {
				return 0, err
			}
		}
	}
	return len(docs), writeAssets(to, index)
}

// writeAssets writes the style, the script, and what the script searches.
func writeAssets(to string, index []found) error {
	list, err := json.Marshal(index) // which writes < as \u003c
	if err != nil {
		return err
	}
	if err := write(to, "index.js", slices.Concat([]byte("const parts = "), list, []byte(";\n"))); err != nil {
		return err
	}
	for _, name := range []string{"style.css", marker} {
		text, err := assets.ReadFile(path.Join("page", name))
		if err != nil {
			return err
		}
		if err := write(to, name, text); err != nil {
			return err
		}
	}
	return nil
}

func write(to, name string, text []byte) error {
	file := filepath.Join(to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a site is for all to read
		return err
	}
	return os.WriteFile(file, text, 0o644) //nolint:gosec // a site is for all to read
}

// document is a file that becomes a page.
type document struct {
	file, url, title string
	text             []byte
}

// read reads the README, the pages of docs in the order of the list at the README's end, and what
// else stands at the root.
func read(from string) (docs []document, err error) {
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		some, err := fs.Glob(os.DirFS(from), pattern)
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		_, title, _ := strings.Cut("\n"+string(text), "\n# ")
		title, _, _ = strings.Cut(title, "\n")
		docs = append(docs, document{name, urlOf(name), strings.ReplaceAll(title, "`", ""), text})
	}
	readme := slices.IndexFunc(docs, func(d document) bool { return d.file == "README.md" })
	if readme < 0 {
		return nil, fs.ErrNotExist
	}
	place := func(d document) int {
		if d.file == "README.md" {
			return -1
		}
		if at := bytes.LastIndex(docs[readme].text, []byte("]("+d.file+")")); at >= 0 {
			return at
		}
		return len(docs[readme].text)
	}
	order := map[string]int{}
	for _, d := range docs {
		order[d.file] = place(d)
	}
	slices.SortStableFunc(docs, func(a, b document) int { return order[a.file] - order[b.file] })
	return docs, nil
}

// urlOf is where the page of a file is.
func urlOf(file string) string {
	if file == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(file, ".md") + ".html"
}
