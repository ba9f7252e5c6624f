import { deleted, edited, SLACK_BOT } from "@corral/testing/gateway/FakeSlack"
import { assert, describe, it } from "@effect/vitest"
import { slackChange, slackChangeOf } from "../../src/slack/Normalization.ts"

const TS = "1790000000.000100"
const mentioned = `<@${SLACK_BOT}> `
const inChannel = { channel: "C0TEAM", channel_type: "channel" }

const changeOf = (event: object, bot: string | undefined = SLACK_BOT) => {
  const stored = slackChange(event, bot)
  return stored && slackChangeOf({ body: JSON.stringify(stored) }, bot)
}

describe("Changes of Slack's messages", () => {
  it("are an edited text, without markup and mentions of the bot", () => {
    assert.deepStrictEqual(changeOf(edited(TS, "a", `${mentioned}b &amp; c`)), {
      chatId: "D0ADA",
      messageId: TS,
      text: "b & c"
    })
  })

  it.each([
    ["a deleted message", deleted(TS, "a")],
    [
      "a deleted message with answers",
      edited(TS, "a", "", {
        message: { type: "message", subtype: "tombstone", text: "This message was deleted.", ts: TS }
      })
    ]
  ])("are %s, without a text", (_, event) =>
    assert.deepStrictEqual(changeOf(event), { chatId: "D0ADA", messageId: TS, text: undefined })
  )

  it("of a channel are those of messages that mention the bot", () => {
    assert.isDefined(changeOf(edited(TS, `${mentioned}a`, `${mentioned}b`, inChannel)))
    assert.isDefined(changeOf(deleted(TS, `${mentioned}a`, inChannel)))
    assert.isDefined(slackChange(deleted(TS, `${mentioned}a`, inChannel), undefined))
    for (const text of ["a", "<@U0MARA> a"]) assert.isUndefined(changeOf(deleted(TS, text, inChannel)))
    assert.isUndefined(slackChange(deleted(TS, "a", inChannel), undefined))
  })

  const card = { type: "message", user: SLACK_BOT, bot_id: "B0BOT", text: "card", ts: TS }
  it.each([
    ["a preview of a link", edited(TS, "a", "a")],
    [
      "an update of a card",
      edited(TS, "", "", { message: { ...card, text: "new" }, previous_message: card })
    ],
    ["a deleted card", deleted(TS, "", { previous_message: card })],
    [
      "a message",
      { type: "message", user: "U0ADA", text: "a", ts: TS, channel: "D0ADA", channel_type: "im" }
    ],
    ["a message without an author", deleted(TS, "", { previous_message: { text: "a", ts: TS } })]
  ])("are not %s", (_, event) => assert.isUndefined(slackChange(event, SLACK_BOT)))
})
