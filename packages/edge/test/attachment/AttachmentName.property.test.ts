import { assert, describe, it } from "@effect/vitest"
import type { AttachmentId } from "@corral/domain/identity/Ids"
import { anyCharacter } from "@corral/testing/text/AnyCharacter"
import * as fc from "fast-check"
import { basename, join, normalize } from "node:path"
import { attachmentFileName } from "../../src/attachment/Attachments.ts"

const id = "att_01K00000000000000000000000" as AttachmentId
const other = "att_01K00000000000000000000001" as AttachmentId
const name = fc.oneof(
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom(
      "..",
      "/",
      "\\",
      "\0",
      ".",
      "-",
      " ",
      "CLAUDE.md",
      "é",
      "\u{1f680}",
      "数",
      "'",
      "$(x)",
      "\u202e"
    ),
    minLength: 1,
    maxLength: 80
  })
)

describe("attachmentFileName", () => {
  it("names one file of its folder, with letters, digits and three other characters, for any name", () =>
    fc.assert(
      fc.property(name, (name) => {
        const file = attachmentFileName({ id, name })
        assert.match(file, /^[\p{L}\p{N}._-]+$/u)
        assert.isTrue(file.startsWith(`${id}-`))
        assert.isAtMost(Buffer.byteLength(file), 200)
        assert.isTrue(file.isWellFormed())
        assert.strictEqual(basename(file), file)
        assert.strictEqual(normalize(join("/folder", file)), `/folder/${file}`)
      })
    ))

  it("differs between attachments with any names, on file systems that fold case and normalize", () =>
    fc.assert(
      fc.property(name, name, (one, two) => {
        const fold = (text: string) => text.normalize("NFKC").toLowerCase()
        assert.notStrictEqual(
          fold(attachmentFileName({ id, name: one })),
          fold(attachmentFileName({ id: other, name: two }))
        )
      })
    ))

  it("keeps plain names and the type of long ones", () => {
    assert.strictEqual(attachmentFileName({ id, name: "photo.png" }), `${id}-photo.png`)
    assert.strictEqual(attachmentFileName({ id, name: "数据 表.csv" }), `${id}-数据-表.csv`)
    assert.isTrue(attachmentFileName({ id, name: `${"数".repeat(200)}.png` }).endsWith("数.png"))
  })
})
