import { assert, describe, it } from "@effect/vitest"
import type { AgentInstanceId, AttachmentId, UserId } from "@corral/domain/identity/Ids"
import { MAX_PROMPT_BYTES } from "@corral/domain/run/Run"
import * as fc from "fast-check"
import { MAX_TRANSCRIPT_BYTES, transcribe } from "../../src/conversation/Transcript.ts"

const text = fc.string({
  unit: fc.constantFrom("a", "\n", "\r", "| ", "é", "\u{1f680}", "\u2028", "User:"),
  maxLength: 60
})
const attachment = fc.record({
  id: fc.constantFrom("att_a" as AttachmentId, "att_b" as AttachmentId),
  name: fc.constantFrom("photo.png", "Files: b.txt"),
  mediaType: fc.constant("image/png" as const),
  bytes: fc.constant(1),
  sha256: fc.constant("0".repeat(64))
})
const turn = fc.record({
  user_id: fc.constantFrom("usr_a" as UserId, "usr_b" as UserId),
  agent_instance_id: fc.constant(null),
  label: fc.constant(null),
  contributors: fc.constant([]),
  attachments: fc.array(attachment, { maxLength: 3 }),
  text
})
const answer = fc.record({
  user_id: fc.constant(null),
  agent_instance_id: fc.constant("agt_a" as AgentInstanceId),
  label: fc.constantFrom("Scripted", null),
  contributors: fc.constant([]),
  attachments: fc.constant([]),
  text
})
const turns = fc.array(fc.oneof(turn, answer), { maxLength: 20 })

describe("transcribe", () => {
  it("quotes each line, so no message can end the transcript", () =>
    fc.assert(
      fc.property(turns, (newestFirst) => {
        const { text } = transcribe(newestFirst, "MESSAGE")
        const lines = text.split(/\r\n|[\r\n\u2028\u2029]/)
        assert.strictEqual(lines.at(-1), "MESSAGE")
        if (newestFirst.length > 0)
          for (const line of lines.slice(2, -2)) assert.isTrue(line.startsWith("| "), line)
      })
    ))

  it("names the files of the turns that it contains", () =>
    fc.assert(
      fc.property(turns, (newestFirst) => {
        const { attachments, text } = transcribe(newestFirst, "MESSAGE")
        for (const { name } of attachments) assert.include(text, `| (Attached file: ${name})`)
        assert.lengthOf(attachments, newestFirst.flatMap((each) => each.attachments).length)
      })
    ))

  it("keeps the newest turns within 64 KiB, and the prompt within its limit", () => {
    const [author, other] = ["usr_a" as UserId, "usr_b" as UserId]
    const large = (user_id: UserId, letter: string) => ({
      user_id,
      agent_instance_id: null,
      label: null,
      contributors: [],
      attachments: [],
      text: letter.repeat(40_000)
    })
    const { authors, text } = transcribe([large(author, "n"), large(other, "o")], "MESSAGE")
    assert.deepStrictEqual(authors, [author])
    assert.include(text, "nnn")
    assert.notInclude(text, "ooo")
    assert.include(text, "Earlier messages are left out")
    assert.isAtMost(Buffer.byteLength(text), MAX_TRANSCRIPT_BYTES + 100)
    const message = "m".repeat(MAX_PROMPT_BYTES - 50_000)
    const full = transcribe([large(author, "n"), large(other, "o")], message)
    assert.isAtMost(Buffer.byteLength(full.text), MAX_PROMPT_BYTES)
    const alone = transcribe([large(author, "n")], "m".repeat(MAX_PROMPT_BYTES))
    assert.isAtMost(Buffer.byteLength(alone.text), MAX_PROMPT_BYTES)
  })
})
