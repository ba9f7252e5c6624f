/** Cards of every platform name what a person would not see, in every text of them. */
import { assert, describe, it } from "@effect/vitest"
import { toFeishuCard } from "../../src/feishu/FeishuCard.ts"
import { type Card, sameInAllLanguages } from "../../src/platform/ChatPlatform.ts"
import { toBlocks } from "../../src/slack/Blocks.ts"

const cardOf = (text: string): Card => {
  const everywhere = sameInAllLanguages(text)
  return {
    title: everywhere,
    tone: "attention",
    lines: [everywhere],
    fields: [
      {
        _tag: "Select",
        name: "a",
        label: everywhere,
        options: [{ value: "v", label: everywhere }],
        multiple: false
      },
      { _tag: "Text", name: "b", label: everywhere }
    ],
    buttons: [{ _tag: "Link", label: everywhere, url: "https://hub.example/runs/1" }]
  }
}

describe("The cards of", () => {
  it.each([
    ["Feishu", (card: Card) => toFeishuCard(card, "en"), "npm<U+3164>test <U+202E>ab"],
    ["Slack", (card: Card) => toBlocks(card, "en"), "npm&lt;U+3164&gt;test &lt;U+202E&gt;ab"]
  ])("%s name characters that hide or reverse", (_, draw, shown) => {
    const text = JSON.stringify(draw(cardOf("npm\u3164test \u202eab")))
    assert.isAtLeast(text.split(shown).length - 1, 6)
    assert.notMatch(text, /[\u3164\u202e]/u)
  })
})
