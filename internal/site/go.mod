module github.com/callgate/callgate/internal/site

go 1.26.7

require github.com/yuin/goldmark v1.8.7
