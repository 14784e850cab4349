package commands

import (
	"context"
	"iter"

	"github.com/wafbot/wafbot/apiclient"
)

// Reader reads an account at the service; *apiclient.Client is one.
type Reader interface {
	Attacks(ctx context.Context, f apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error]
	IPRules(ctx context.Context, f apiclient.IPRuleFilter) iter.Seq2[apiclient.IPRule, error]
	Rules(ctx context.Context, f apiclient.RuleFilter) iter.Seq2[apiclient.Rule, error]
	ConditionSets(ctx context.Context) iter.Seq2[apiclient.ConditionSet, error]
	Vulnerabilities(ctx context.Context, f apiclient.VulnFilter) iter.Seq2[apiclient.Vulnerability, error]
}

// Writer changes an account at the service; *apiclient.Client is one.
type Writer interface {
	AddIPRule(ctx context.Context, r apiclient.IPRule, force bool) (apiclient.IPRule, error)
	DeleteIPRules(ctx context.Context, ids ...int64) error
	CreateRule(ctx context.Context, r apiclient.Rule) (apiclient.Rule, error)
	DeleteRule(ctx context.Context, id int64) error
}

// Service is an account at the service.
type Service struct {
	Reader
	Writer
}
