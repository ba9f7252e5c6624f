/** Every text that may leave for a chat, with secrets of known forms in it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import type { Card, ChatPlatform, Inbound, MessageContent } from "../../src/platform/ChatPlatform.ts"
import { redactCalls } from "../../src/platform/PlatformCalls.ts"

const SECRETS = [
  `sk-${"a1".repeat(12)}`,
  `ghp_${"A1b2".repeat(9)}`,
  `xoxb-${"1234567890-".repeat(2)}abc`,
  `Bearer ${"Zz9".repeat(8)}`
]
const text = fc
  .tuple(
    fc.constantFrom("", "the key is ", "看 ", "a\nb "),
    fc.constantFrom(...SECRETS),
    fc.constantFrom("", " .", "\n")
  )
  .map((parts) => parts.join(""))
const words = fc.record({ en: text, zh: text })
const card: fc.Arbitrary<Card> = fc.record({
  title: words,
  tone: fc.constant("neutral" as const),
  lines: fc.array(words, { maxLength: 4 }),
  buttons: fc.array(
    fc.oneof(
      fc.record({ _tag: fc.constant("Link" as const), label: words, url: fc.constant("https://hub/link/a") }),
      fc.record({
        _tag: fc.constant("Action" as const),
        label: words,
        actionId: fc.constant("act_1"),
        style: fc.constant("plain" as const)
      })
    ),
    { maxLength: 3 }
  )
})

describe("redacted", () => {
  const left: Array<unknown> = []
  const take = (...what: ReadonlyArray<unknown>) => Effect.sync(() => void left.push(...what))
  // Only what is said is looked at.
  const platform = redactCalls({
    send: (_: unknown, content: MessageContent) => Effect.as(take(content), { chatId: "c", messageId: "m" }),
    update: (_: unknown, rendered: Card) => take(rendered),
    sendEphemeral: (_: Inbound, message: string) => take(message)
  } as unknown as ChatPlatform)

  it("sends no secret in a text, a card, a button or a whisper", () => {
    fc.assert(
      fc.property(text, card, (message, rendered) => {
        left.length = 0
        const place = { _tag: "Person", userId: "u" } as const
        Effect.runSync(
          Effect.all([
            platform.send(place, { _tag: "Text", text: message }, "k"),
            platform.send(place, { _tag: "Card", card: rendered }, "k"),
            platform.update({ chatId: "c", messageId: "m" }, rendered),
            platform.sendEphemeral?.({} as Inbound, message) ?? Effect.void
          ])
        )
        assert.lengthOf(left, 4)
        const all = JSON.stringify(left)
        for (const secret of SECRETS) assert.notInclude(all, secret.replace("Bearer ", ""))
        assert.include(all, "[redacted]")
      })
    )
  })
})
