/** Requests as Slack sends them: events as JSON, clicks as a form, each signed over its bytes with the time at which it is sent. */
import { createHmac } from "node:crypto"
import type { SentBotMessage } from "./FakeFeishu.ts"

export const SLACK_APP = "A0CORRAL1"
export const TEAM = "T0TEAM"
export const SLACK_BOT = "U0BOT"
export const ADA = "U0ADA"
export const CHANNEL = "C0TEAM"
export const SLACK_SECRET = "a-signing-secret"
export const BOT_TOKEN = "xoxb-a-bot-token"

export const JSON_TYPE = "application/json"
export const FORM_TYPE = "application/x-www-form-urlencoded"

export const slackSeconds = (millis: number): string => String(Math.floor(millis / 1_000))

export const signedSlackRequest = (
  body: string | Buffer,
  type: string,
  timestamp = slackSeconds(Date.now()),
  secret = SLACK_SECRET
): SentBotMessage => {
  const bytes = Buffer.from(body)
  const signature = createHmac("sha256", secret).update(`v0:${timestamp}:`).update(bytes).digest("hex")
  return {
    body: bytes,
    headers: {
      "content-type": type,
      "x-slack-request-timestamp": timestamp,
      "x-slack-signature": `v0=${signature}`
    }
  }
}

export const callback = (event: object, over: object = {}) => ({
  token: "an-old-verification-token",
  team_id: TEAM,
  api_app_id: SLACK_APP,
  event,
  type: "event_callback",
  event_id: "Ev1",
  event_time: 1_790_000_000,
  authorizations: [{ team_id: TEAM, user_id: SLACK_BOT, is_bot: true }],
  ...over
})

/** A direct message. */
export const direct = (text: string, over: object = {}) => ({
  type: "message",
  user: ADA,
  team: TEAM,
  text,
  ts: "1790000000.000100",
  channel: "D0ADA",
  channel_type: "im",
  ...over
})

/** A message in a channel that mentions the bot. */
export const mention = (text: string, over: object = {}) => ({
  type: "app_mention",
  user: ADA,
  team: TEAM,
  text: `<@${SLACK_BOT}> ${text}`,
  ts: "1790000000.000200",
  channel: CHANNEL,
  ...over
})

/** A direct message is edited. */
export const edited = (ts: string, before: string, text: string, over: object = {}) => ({
  type: "message",
  subtype: "message_changed",
  hidden: true,
  channel: "D0ADA",
  channel_type: "im",
  ts: "1790000099.000100",
  message: { type: "message", user: ADA, text, ts, edited: { user: ADA, ts: "1790000099.000000" } },
  previous_message: { type: "message", user: ADA, text: before, ts },
  ...over
})

/** A direct message is deleted. */
export const deleted = (ts: string, before: string, over: object = {}) => ({
  type: "message",
  subtype: "message_deleted",
  hidden: true,
  channel: "D0ADA",
  channel_type: "im",
  ts: "1790000099.000200",
  deleted_ts: ts,
  previous_message: { type: "message", user: ADA, text: before, ts },
  ...over
})

/** A click on a button of a card. */
export const slackClick = (value: unknown, over: object = {}) => ({
  type: "block_actions",
  token: "an-old-verification-token",
  api_app_id: SLACK_APP,
  team: { id: TEAM, domain: "acme" },
  user: { id: ADA, username: "ada", team_id: TEAM },
  channel: { id: CHANNEL, name: "team" },
  container: { type: "message", message_ts: "1790000000.000300", channel_id: CHANNEL, is_ephemeral: false },
  trigger_id: "1.2.3",
  message: { type: "message", text: "what the card says", ts: "1790000000.000300" },
  response_url: "https://hooks.slack.com/actions/T0TEAM/1/abc",
  actions: [{ type: "button", action_id: "action-0", block_id: "b", action_ts: "1790000001.000001", value }],
  ...over
})

export const pushedEvent = (payload: unknown, at = Date.now()): SentBotMessage =>
  signedSlackRequest(JSON.stringify(payload), JSON_TYPE, slackSeconds(at))

export const pushedSlackMessage = (id: string, text = "hello"): SentBotMessage =>
  pushedEvent(callback(direct(text), { event_id: id }))

export const pushedSlackClick = (payload: unknown, at = Date.now()): SentBotMessage =>
  signedSlackRequest(
    new URLSearchParams({ payload: JSON.stringify(payload) }).toString(),
    FORM_TYPE,
    slackSeconds(at)
  )
