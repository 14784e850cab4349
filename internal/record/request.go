package record

import "context"

type requestKey struct{}

// WithRequest has what is logged with the context name the request; "": it names none.
func WithRequest(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestOf is the request that a context is of; "": of none.
func RequestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
