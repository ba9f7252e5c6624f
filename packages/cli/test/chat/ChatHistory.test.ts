import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ChatHistory } from "../../src/chat/ChatHistory.ts"

const home = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "corral-history-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, "home", "chat-history")
}

describe("ChatHistory", () => {
  it("keeps entries privately, for the next chat, with the text that is being written after the last one", () => {
    const file = home()
    const first = new ChatHistory(file, {})
    first.add("one")
    first.add("two\nlines")
    first.add("one")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    const next = new ChatHistory(file, {})
    assert.deepStrictEqual(
      [
        next.move(-1, "draft"),
        next.move(-1, "one"),
        next.move(-1, "two\nlines"),
        next.move(1, "two\nlines"),
        next.move(1, "one"),
        next.move(1, "draft")
      ],
      ["one", "two\nlines", undefined, "one", "draft", undefined]
    )
  })

  it("redacts secrets of a known form and secret values of the environment", () => {
    const file = home()
    const token = `ghp_${"a1B2c3D4e5F6".repeat(3)}`
    const history = new ChatHistory(file, { MY_API_KEY: "correct-horse-battery" })
    history.add(`use ${token}`)
    history.add("log in with correct-horse-battery please")
    const text = readFileSync(file, "utf8")
    assert.notInclude(text, token)
    assert.notInclude(text, "correct-horse-battery")
    assert.include(text, "[redacted]")
    assert.notInclude(history.move(-1, "") ?? "", "correct-horse-battery")
  })

  it("starts empty with a damaged file", () => {
    const file = home()
    new ChatHistory(file, {}).add("one")
    writeFileSync(file, "{damaged\n")
    assert.isUndefined(new ChatHistory(file, {}).move(-1, ""))
  })
})
