import { assert, describe, it } from "@effect/vitest"
import type { AttachmentMediaType } from "../../src/session/Attachment.ts"
import * as fc from "fast-check"
import { contentCheck } from "../../src/session/ContentCheck.ts"

const check = (mediaType: AttachmentMediaType, pieces: ReadonlyArray<Uint8Array>): boolean => {
  const { accepts, isComplete } = contentCheck(mediaType)
  return pieces.every(accepts) && isComplete()
}

/** The bytes in pieces of these sizes. */
const cut = (bytes: Uint8Array, sizes: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const pieces: Array<Uint8Array> = []
  let at = 0
  for (const size of sizes) pieces.push(bytes.subarray(at, (at += size)))
  return [...pieces, bytes.subarray(at)]
}

const heads: ReadonlyArray<readonly [AttachmentMediaType, string]> = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF89a"],
  ["image/webp", "RIFF\x00\x00\x00\x00WEBP"],
  ["application/pdf", "%PDF-"]
]
const sizes = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 10 })
const rest = fc.uint8Array({ maxLength: 30 })

describe("contentCheck", () => {
  it.each(heads)(
    "accepts %s by its signature, however the bytes are divided, and not as another type",
    (type, head) =>
      fc.assert(
        fc.property(rest, sizes, (rest, sizes) => {
          const pieces = cut(Buffer.concat([Buffer.from(head, "latin1"), rest]), sizes)
          for (const [other] of heads) assert.strictEqual(check(other, pieces), other === type, other)
        })
      )
  )

  it("accepts any well-formed text without U+0000, however its bytes are divided", () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "é", "数", "\u{1f680}", "\0", "\ud800"), maxLength: 20 }),
        sizes,
        (text, sizes) => {
          const isText = text.isWellFormed() && !text.includes("\0")
          const bytes = text.isWellFormed() ? Buffer.from(text) : Buffer.from([0xed, 0xa0, 0x80])
          assert.strictEqual(check("text/plain", cut(bytes, sizes)), isText)
        }
      )
    ))

  it("refuses a text that ends within a character", () => {
    assert.isFalse(check("text/plain", [Buffer.from("é").subarray(0, 1)]))
    assert.isFalse(check("image/png", [Buffer.from("\x89PN", "latin1")]))
  })
})
