import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Card, sameInAllLanguages } from "../../src/platform/ChatPlatform.ts"
import { toBlocks, splitText } from "../../src/slack/Blocks.ts"

const card: Card = {
  title: { en: "Waits for you", zh: "等待您的批准" },
  tone: "attention",
  lines: [{ en: "Run <b> & more", zh: "运行" }, sameInAllLanguages("")],
  buttons: [
    { _tag: "Action", label: sameInAllLanguages("Allow"), actionId: "act_1", style: "primary" },
    { _tag: "Action", label: sameInAllLanguages("Later"), actionId: "act_2", style: "plain" },
    { _tag: "Link", label: sameInAllLanguages("Open"), url: "https://hub.example/runs/1" }
  ]
}

describe("blocksOf", () => {
  it("draws a card in one language, every word of it plain", () => {
    assert.deepStrictEqual(toBlocks(card, "en"), {
      text: "Waits for you\nRun &lt;b&gt; &amp; more\n",
      blocks: [
        { type: "header", text: { type: "plain_text", text: "⚠️ Waits for you", emoji: false } },
        { type: "section", text: { type: "plain_text", text: "Run &lt;b&gt; &amp; more", emoji: false } },
        {
          type: "actions",
          elements: [
            {
              type: "button",
              action_id: "action-0",
              text: { type: "plain_text", text: "Allow", emoji: false },
              value: "act_1",
              style: "primary"
            },
            {
              type: "button",
              action_id: "action-1",
              text: { type: "plain_text", text: "Later", emoji: false },
              value: "act_2"
            },
            {
              type: "button",
              action_id: "link-2",
              text: { type: "plain_text", text: "Open", emoji: false },
              url: "https://hub.example/runs/1"
            }
          ]
        }
      ]
    })
    assert.include(toBlocks(card, "zh").text, "等待您的批准")
  })

  it("keeps within what Slack takes, however long a card is, and carries no more than ids and addresses", () => {
    const words = fc.string({ unit: "grapheme", maxLength: 4_000 }).map(sameInAllLanguages)
    fc.assert(
      fc.property(words, fc.array(words, { maxLength: 60 }), (title, lines) => {
        const buttons = Array.from({ length: 30 }, (_, at) => ({
          _tag: "Action" as const,
          label: title,
          actionId: `act_${at}`,
          style: "plain" as const
        }))
        const { blocks, text } = toBlocks({ title, tone: "bad", lines, buttons }, "en")
        assert.isAtMost(blocks.length, 50)
        assert.isAtMost(text.length, 3_000)
        for (const block of blocks) {
          if (block.type === "actions") {
            assert.isAtMost(block.elements.length, 25)
            for (const element of block.elements) {
              assert(element.type === "button")
              assert.isTrue(element.text.text.length > 0 && element.text.text.length <= 75)
            }
            continue
          }
          assert(block.type === "header" || block.type === "section")
          const length = block.text?.text.length ?? 0
          assert.isTrue(length > 0 && length <= (block.type === "header" ? 150 : 3_000))
        }
      }),
      { numRuns: 30 }
    )
  })
})

describe("partsOf", () => {
  it("loses nothing and cuts no character", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "&", "<", "😀", "书") })
    fc.assert(
      fc.property(text, fc.integer({ min: 5, max: 20 }), (whole, most) => {
        const parts = splitText(whole, most)
        for (const part of parts) assert.isTrue(part.length <= most && part.isWellFormed())
        assert.strictEqual(parts.join(""), whole.replaceAll("&", "&amp;").replaceAll("<", "&lt;"))
      })
    )
  })

  it("draws fields as input blocks, with nothing selected", () => {
    const label = { en: "Colour", zh: "颜色" }
    const options = [{ value: "0", label: sameInAllLanguages("Red") }]
    const { blocks } = toBlocks(
      {
        ...card,
        fields: [
          { _tag: "Select", name: "q0", label, options, multiple: false },
          { _tag: "Select", name: "q1", label, options, multiple: true },
          { _tag: "Text", name: "q2", label }
        ]
      },
      "zh"
    )
    const inputs = blocks.flatMap((block) => (block.type === "input" ? [block] : []))
    assert.deepStrictEqual(
      inputs.map(({ block_id, element }) => [block_id, element.type]),
      [
        ["q0", "static_select"],
        ["q1", "multi_static_select"],
        ["q2", "plain_text_input"]
      ]
    )
    for (const { dispatch_action, element, label: shown, optional } of inputs) {
      assert.isFalse(dispatch_action)
      assert.isTrue(optional)
      assert.strictEqual(shown.text, "颜色")
      assert.notProperty(element, "initial_option")
      assert.notProperty(element, "initial_options")
    }
  })
})
