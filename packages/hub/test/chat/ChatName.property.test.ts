import { chatName } from "@corral/domain/chat/ChatAccount"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { chatNameOf } from "../../src/chat/ChatName.ts"

const isName = Schema.is(chatName)

/** Pieces of names, of which some hide, reorder or break what stands beside them. */
const Piece = Schema.Union([
  Schema.String,
  Schema.Literals([
    "\u0000",
    "\n",
    "\u2028",
    "\u202e",
    "\u2066",
    "\u200b",
    "\ufeff",
    "\ud83d",
    "\ude00",
    " ",
    "😀",
    "李",
    "x".repeat(199)
  ])
])

describe("chatNameOf", () => {
  it.prop("returns a safe name or none for any text", [Schema.Array(Piece)], ([pieces]) => {
    const name = chatNameOf(pieces.join(""))
    assert.isTrue(name === undefined || isName(name))
    assert.notMatch(name ?? "", /\p{Bidi_Control}|^\s|\s$|\s\s/u)
    assert.strictEqual(chatNameOf(name), name)
  })

  it("cuts between characters", () => {
    assert.strictEqual(chatNameOf(`${"x".repeat(199)} y`), "x".repeat(199))
    assert.strictEqual(chatNameOf(`${"x".repeat(199)}😀`), "x".repeat(199))
  })

  it.each(["Li Wei", "李伟", "Zoë O'Neill", "👩‍💻 Ada", "علي"])("keeps %s unchanged", (name) => {
    assert.strictEqual(chatNameOf(name), name)
  })
})
