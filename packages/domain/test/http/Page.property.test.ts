import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Cursor, decodeCursor, encodeCursor } from "../../src/http/Page.ts"

const Text = Schema.String.check(Schema.isMaxLength(100))
const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** Lone surrogates have no UTF-8: they come back as U+FFFD, here as anywhere else. No position holds U+0000. */
const asUtf8 = (text: string) => new TextDecoder().decode(new TextEncoder().encode(text)).replaceAll("\0", "")

describe("cursor", () => {
  it.prop("comes back as it went", [Text, Text, Text], ([text, filter, principal]) => {
    const position = asUtf8(text)
    const cursor = encodeCursor({ position, filter, principal })
    assert.isTrue(Schema.is(Cursor)(cursor))
    assert.deepStrictEqual(decodeCursor(cursor, { filter, principal }), Result.succeed(position))
  })

  it.prop(
    "with any character changed is refused",
    [Text, Text, Place, Place],
    ([text, principal, at, other]) => {
      const scope = { filter: "runs", principal }
      const cursor = encodeCursor({ position: asUtf8(text), ...scope })
      const i = at % cursor.length
      const replacement = alphabet.charAt((alphabet.indexOf(cursor.charAt(i)) + 1 + (other % 63)) % 64)
      const damaged = cursor.slice(0, i) + replacement + cursor.slice(i + 1)
      assert.notStrictEqual(damaged, cursor)
      assert.isTrue(Result.isFailure(decodeCursor(damaged, scope)))
    }
  )

  it.prop("cut or lengthened is refused", [Text, Place], ([text, at]) => {
    const scope = { filter: "runs", principal: "usr" }
    const cursor = encodeCursor({ position: asUtf8(text), ...scope })
    assert.isTrue(Result.isFailure(decodeCursor(cursor.slice(0, at % cursor.length), scope)))
    assert.isTrue(Result.isFailure(decodeCursor(cursor + alphabet.charAt(at % 64), scope)))
  })

  it.prop("of another filter or principal is refused", [Text, Text, Text, Text], ([text, a, b, c]) => {
    const cursor = encodeCursor({ position: asUtf8(text), filter: a, principal: b })
    assert.strictEqual(Result.isSuccess(decodeCursor(cursor, { filter: c, principal: b })), a === c)
    assert.strictEqual(Result.isSuccess(decodeCursor(cursor, { filter: a, principal: c })), b === c)
  })

  it.prop("that we never made is refused", [Schema.String], ([text]) => {
    const result = decodeCursor(text, { filter: "runs", principal: "usr" })
    assert.strictEqual(Result.isFailure(result) && result.failure.code, "schema_validation_failed")
  })

  it("tells filter and principal apart", () => {
    const cursor = encodeCursor({ position: "p", filter: "ab", principal: "c" })
    assert.isTrue(Result.isFailure(decodeCursor(cursor, { filter: "a", principal: "bc" })))
  })
})
