package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
)

// careless is a bot as one would write it first. It stores and verifies nothing: it lists attacks and posts a line
// about each that it doesn't know, again after each failure; it acknowledges a click, calls the service and updates the
// card.
type careless struct {
	url     string // of the stage
	posts   *http.Client
	service *apiclient.Client
	slack   *slack.Client
	known   map[string]bool // attacks, by id
}

func newCareless(stage string) *careless {
	service, err := apiclient.New(apiclient.Config{BaseURL: stage + "/service", Token: "token", ClientID: 5})
	if err != nil {
		panic(err) // it is a constant address
	}
	return &careless{
		url: stage, posts: &http.Client{Timeout: 250 * time.Millisecond}, service: service,
		slack: slack.New("xoxb-bench", slack.OptionAPIURL(stage+"/slack/api/")), known: map[string]bool{},
	}
}

// poll lists attacks as often as wafbot does. What it finds first was there before it.
func (c *careless) poll() {
	for before := true; ; time.Sleep(250 * time.Millisecond) {
		if err := c.pollOnce(before); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		before = false
	}
}

func (c *careless) pollOnce(before bool) error {
	const limit = 100
	for offset := 0; ; offset += limit {
		query := fmt.Sprintf(`{"filter":{"clientid":[5]},"order_by":"last_time","order_desc":true,"offset":%d,"limit":%d}`, offset, limit)
		req, err := http.NewRequest(http.MethodPost, c.url+"/service/v1/objects/attack", strings.NewReader(query))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Serviceapi-Token": {"token"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		var page struct {
			Body []struct{ AttackID, Path string }
		}
		err = json.NewDecoder(res.Body).Decode(&page)
		res.Body.Close()
		if err != nil {
			return err
		}
		for _, a := range page.Body {
			if !c.known[a.AttackID] && !before {
				c.post("attack on " + a.Path)
			}
			c.known[a.AttackID] = true
		}
		if len(page.Body) < limit {
			return nil
		}
	}
}

// post posts a line until Slack says that it has it.
func (c *careless) post(text string) {
	for {
		res, err := c.posts.PostForm(c.url+"/slack/api/chat.postMessage", url.Values{"token": {"xoxb-bench"}, "channel": {"C0WAF0001"}, "text": {text}})
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
		pause, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		time.Sleep(time.Duration(pause) * time.Second)
	}
}

// takeClick acknowledges a click at once.
func (c *careless) takeClick(w http.ResponseWriter, r *http.Request) {
	verifier, err := slack.NewSecretsVerifier(r.Header, benchSecret)
	body, _ := io.ReadAll(io.TeeReader(r.Body, &verifier))
	if err != nil || verifier.Ensure() != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	go func() {
		if err := c.deny(string(body)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
}

func (c *careless) deny(body string) error {
	form, err := url.ParseQuery(body)
	if err != nil {
		return err
	}
	var p slack.InteractionCallback
	if err := json.Unmarshal([]byte(form.Get("payload")), &p); err != nil {
		return err
	}
	address := strings.Fields(p.ActionCallback.BlockActions[0].Value)[1]
	entry := apiclient.IPRule{
		List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.PrefixFrom(netip.MustParseAddr(address), 32), Apps: []int{apiclient.AllApps},
		Reason: "careless", Expires: time.Now().Add(4 * time.Hour),
	}
	if _, err := c.service.AddIPRule(context.Background(), entry, false); err != nil {
		return err
	}
	words := fmt.Sprintf("Deny %s everywhere for 4 h: accepted by the service", address)
	section := slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, words, false, false), nil, nil)
	if _, _, _, err := c.slack.UpdateMessage(p.Channel.ID, p.Container.MessageTs, slack.MsgOptionBlocks(section)); err != nil {
		return err
	}
	res, err := http.Post(p.ResponseURL, "application/json", bytes.NewReader([]byte(words)))
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// undoPatch creates a patch and at once deletes what is listed of it.
func (c *careless) undoPatch(ctx context.Context, patch apiclient.Rule) error {
	if _, err := c.service.CreateRule(ctx, patch); err != nil {
		return err
	}
	for rule, err := range c.service.Rules(ctx, 0) {
		if err != nil {
			return err
		}
		if rule.Type == patch.Type {
			if err := c.service.DeleteRule(ctx, rule.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
