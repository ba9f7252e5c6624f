import { assert, describe, it } from "@effect/vitest"
import type { Attachment } from "@corral/domain/session/Attachment"
import { MAX_TEXT_LENGTH, readDraft, storeDraft } from "../../src/composer/Draft.ts"
import { MemoryStorage } from "../harness/MemoryStorage.ts"

// The draft reads no other fields.
const attachment = { id: "att_1", name: "a.txt", mediaType: "text/plain", bytes: 3 } as unknown as Attachment
const textOnly = (text: string) => ({ text, files: [] })
const HOUR_MS = 3_600_000

describe("StoredDrafts", () => {
  it("returns what was stored, with its files", () => {
    const storage = new MemoryStorage()
    const draft = { text: "hello", files: [{ attachment, at: 10 }] }
    storeDraft("s", draft, 20, storage)
    assert.deepStrictEqual(readDraft("s", 30, storage), draft)
    assert.deepStrictEqual(readDraft("other", 30, storage), textOnly(""))
  })

  it("deletes a draft that is empty, and keeps one with files alone", () => {
    const storage = new MemoryStorage()
    storeDraft("s", textOnly("hello"), 0, storage)
    storeDraft("s", textOnly("  \n"), 1, storage)
    assert.strictEqual(storage.length, 0)
    storeDraft("s", { text: "", files: [{ attachment, at: 1 }] }, 1, storage)
    assert.strictEqual(readDraft("s", 2, storage).files.length, 1)
  })

  it("keeps the last 50 drafts, and nothing of others", () => {
    const storage = new MemoryStorage()
    storage.setItem("corral.theme", "dark")
    for (let i = 0; i < 60; i++) storeDraft(`s${i}`, textOnly(`text ${i}`), i, storage)
    assert.strictEqual(storage.length, 51)
    assert.strictEqual(readDraft("s9", 99, storage).text, "")
    assert.strictEqual(readDraft("s10", 99, storage).text, "text 10")
    assert.strictEqual(storage.getItem("corral.theme"), "dark")
  })

  it("forgets files that the Hub has deleted, and cuts a text that no message could have", () => {
    const storage = new MemoryStorage()
    storeDraft("s", { text: "x".repeat(MAX_TEXT_LENGTH + 1), files: [{ attachment, at: 0 }] }, 0, storage)
    assert.strictEqual(readDraft("s", 22 * HOUR_MS, storage).files.length, 1)
    assert.deepStrictEqual(readDraft("s", 23 * HOUR_MS, storage).files, [])
    assert.strictEqual(readDraft("s", 0, storage).text.length, MAX_TEXT_LENGTH)
  })

  it("survives a storage that is full, and content that it did not write", () => {
    storeDraft("s", textOnly("too long for it"), 0, new MemoryStorage(4))
    const storage = new MemoryStorage()
    for (const content of ["", "{", "null", "[]", '"text"', '{"text":1,"files":[1,{},{"at":1}]}']) {
      storage.setItem("corral.draft.s", content)
      assert.deepStrictEqual(readDraft("s", 0, storage), textOnly(""), content)
    }
  })
})
