import { assert, describe, it } from "@effect/vitest"
import type { FileEntry } from "@corral/domain/device/Workspace"
import { completeMention, mentionAt } from "../../src/composer/MentionList.tsx"

const entry = (path: string, kind: FileEntry["kind"] = "file"): FileEntry => ({
  path,
  name: path.slice(path.lastIndexOf("/") + 1),
  kind
})
const at = (text: string) => mentionAt(text, text.length)

describe("mentionAt", () => {
  it("finds what was typed before the caret", () => {
    assert.deepStrictEqual(at("@"), { start: 0, query: "" })
    assert.deepStrictEqual(at("see @rea"), { start: 4, query: "rea" })
    assert.deepStrictEqual(at("(@src/run/Ev"), { start: 1, query: "src/run/Ev" })
    assert.deepStrictEqual(at("line\n@src/"), { start: 5, query: "src/" })
    assert.deepStrictEqual(mentionAt("see @rea and", 8), { start: 4, query: "rea" })
  })

  it("finds none in an address, after a space, and in a path without end", () => {
    assert.isUndefined(at("ana@example.test"))
    assert.isUndefined(at("@src then"))
    assert.isUndefined(at(""))
    assert.isUndefined(at(`@${"x".repeat(1_000)}`))
    assert.isUndefined(at("x".repeat(100_000)))
  })
})

describe("completeMention", () => {
  const complete = (text: string, caret: number, chosen: FileEntry) => {
    const mention = mentionAt(text, caret)
    assert.isDefined(mention)
    return completeMention(text, mention, caret, chosen)
  }

  it("ends a file with a space, and keeps a folder open", () => {
    assert.deepStrictEqual(complete("see @src/ma", 11, entry("src/main.ts")), {
      text: "see @src/main.ts ",
      caret: 17
    })
    assert.deepStrictEqual(complete("@sr", 3, entry("src", "directory")), { text: "@src/", caret: 5 })
  })

  it("keeps the text after the caret, with one space between", () => {
    assert.deepStrictEqual(complete("read @a now", 7, entry("a.txt")), { text: "read @a.txt now", caret: 11 })
    assert.deepStrictEqual(complete("read @anow", 7, entry("a.txt")), { text: "read @a.txt now", caret: 12 })
  })
})
