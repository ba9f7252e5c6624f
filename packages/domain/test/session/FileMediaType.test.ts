import { assert, describe, it } from "@effect/vitest"
import { fileMediaType } from "../../src/session/ContentCheck.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

describe("fileMediaType", () => {
  it.each([
    ["notes.txt", "text/plain"],
    ["main.ts", "text/plain"],
    ["picture.svg", "text/plain"],
    ["README.md", "text/markdown"],
    ["TABLE.CSV", "text/csv"],
    ["a.b.json", "application/json"],
    [".json", "text/plain"],
    ["Makefile", "text/plain"]
  ])("takes the text %s for %s", (name, mediaType) => {
    assert.strictEqual(fileMediaType(name, bytes("{}")), mediaType)
  })

  it("knows an image and a document by the content, under any name", () => {
    assert.strictEqual(fileMediaType("a.txt", Buffer.from("\x89PNG\r\n\x1a\n rest", "latin1")), "image/png")
    assert.strictEqual(fileMediaType("a.md", bytes("%PDF-1.7 rest")), "application/pdf")
  })

  it("is undefined for other content", () => {
    assert.isUndefined(fileMediaType("a.png", Uint8Array.of(0x50, 0x4b, 0, 0)))
    assert.isUndefined(fileMediaType("a.txt", Uint8Array.of(0xff, 0xfe, 0x41)))
  })
})
