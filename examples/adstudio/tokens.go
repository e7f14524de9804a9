package main

import "context"

func tokens(context.Context, settings) error { return nil }
