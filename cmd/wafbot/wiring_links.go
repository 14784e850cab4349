package main

import (
	"context"
)

// cardLinks are where the cards of attacks can be opened, by attack, as far as that can be found out.
func (a *app) cardLinks(ctx context.Context, account string, attacks []string) map[string]string {
	places, err := a.store.Cards.CardsOf(ctx, account, attacks)
	if err != nil {
		return nil
	}
	links := map[string]string{}
	for attack, place := range places {
		link, err := a.slack.Permalink(ctx, place[0], place[1])
		if err != nil {
			return nil
		}
		links[attack] = link
	}
	return links
}
