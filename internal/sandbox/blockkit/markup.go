package blockkit

// Markup lists the texts in a block in which Slack looks for mentions.
func Markup(v any) []string {
	var found []string
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			found = append(found, Markup(item)...)
		}
	case map[string]any:
		text, _ := v["text"].(string)
		user, _ := v["user_id"].(string)
		group, _ := v["usergroup_id"].(string)
		switch v["type"] {
		case "mrkdwn":
			return []string{text}
		case "user":
			return []string{"<@" + user + ">"}
		case "usergroup":
			return []string{"<!subteam^" + group + ">"}
		case "broadcast":
			everyone, _ := v["range"].(string)
			return []string{"<!" + everyone + ">"}
		}
		for _, key := range sortedKeys(v) {
			found = append(found, Markup(v[key])...)
		}
	}
	return found
}
