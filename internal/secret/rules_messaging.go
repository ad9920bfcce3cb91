package secret

const (
	slackWebhook   = "hooks.slack.com/"
	discordWebhook = "{discord,discordapp}.com/api/webhooks/"
	teamsWebhook   = ".webhook.office.com/webhookb2/<uuid>@<uuid>/IncomingWebhook/<low:32>/<uuid>"
)

// Formats of messaging services: chats, mail, telephones.
var messagingTokens = []tokenPattern{
	{"discord-webhook-url", discordWebhook + "<digit:17-20>/<dash:60-80>", 4},
	{"intra42-client-secret", "s-s4t2{ud,af}-<Hex:64>", 3},
	{"microsoft-teams-webhook", "https://<low:1-60>" + teamsWebhook, 0},
	{"sendgrid-api-token", "SG.<dash:22>.<dash:43>", 2},
	{"sendinblue-api-token", "xkeysib-<hex:64>-<alnum:16>", 2},
	{"slack-app-token", "xapp-<digit:1>-<alnum:1-60>-<digit:1-60>-<alnum:1-200>", 2},
	{"slack-bot-token", "xoxb-<digit:10-13>-<digit:10><dash:0-100>", 3},
	{"slack-config-access-token", "xoxe.xox{b,p}-<digit:1>-<alnum:163-166>", 2},
	{"slack-config-refresh-token", "xoxe-<digit:1>-<alnum:146>", 2},
	{"slack-legacy-bot-token", "xoxb-<digit:8-14>-<alnum:18-26>", 2},
	{"slack-legacy-token", "xox{o,s}-<digit:1-20>-<digit:1-20>-<digit:1-20>-<Hex:1-64>", 2},
	{"slack-legacy-workspace-token", "xox{a,r}-{,<digit:1>-}<alnum:8-48>", 2},
	{"slack-user-token", "xox{p,e}-<digit:10-13>-<digit:10-13>-<digit:10-13>-<dash:28-34>", 2},
	{"slack-webhook-url", slackWebhook + "{services,workflows,triggers}/<b64:43-56>", 0},
	{"telegram-bot-api-token", "<digit:{8,9,10}>:AA<dash:33>", 3},
	{"twilio-api-key", "SK<Hex:32>", 3},
}
