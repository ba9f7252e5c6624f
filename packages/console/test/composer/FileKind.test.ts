import { assert, describe, it } from "@effect/vitest"
import { MAX_ATTACHMENT_BYTES } from "@corral/domain/session/AttachmentRules"
import { attachmentName, fileKind, pastedFiles } from "../../src/composer/Draft.ts"

const clipboard = (texts: Readonly<Record<string, string>>, files: ReadonlyArray<File> = []) => ({
  // A list of files is read like an array.
  files: files as unknown as FileList,
  getData: (type: string) => texts[type] ?? ""
})

describe("FileKind", () => {
  it("follows the content, not the announced type", async () => {
    // Browsers take TypeScript for a video.
    const text = new Blob(["const a = 1"], { type: "video/mp2t" })
    assert.deepStrictEqual(await fileKind("main.ts", text), { mediaType: "text/plain" })
    assert.deepStrictEqual(await fileKind("README.md", text), { mediaType: "text/markdown" })
    assert.deepStrictEqual(await fileKind("a.png", new Blob(["%PDF-1.7"], { type: "image/png" })), {
      mediaType: "application/pdf"
    })
  })

  it("refuses other content, empty files, and files above the limit", async () => {
    const refusal = async (content: BlobPart) => (await fileKind("a.txt", new Blob([content]))).refusal
    assert.strictEqual(await refusal("a\0b"), "type")
    assert.strictEqual(await refusal(Uint8Array.of(0xff, 0xfe)), "type")
    assert.strictEqual(await refusal(""), "empty")
    assert.strictEqual(await refusal(new Uint8Array(MAX_ATTACHMENT_BYTES + 1)), "tooLarge")
    assert.isUndefined(await refusal("a".repeat(MAX_ATTACHMENT_BYTES)))
  })

  it("makes a name of one line without a folder", () => {
    assert.strictEqual(attachmentName("notes.txt"), "notes.txt")
    assert.strictEqual(attachmentName("a/b\\c\nd.txt"), "a_b_c_d.txt")
    assert.strictEqual(attachmentName(".."), "file")
    assert.strictEqual(attachmentName(""), "file")
    assert.strictEqual(attachmentName(`${"x".repeat(300)}.png`).length, 200)
    assert.isTrue(attachmentName(`${"😀".repeat(99)}abc.png`).isWellFormed())
  })

  describe("of a paste", () => {
    const image = new File(["bytes"], "image.png", { type: "image/png" })

    it("is empty for a text that fits into the field", () => {
      assert.deepStrictEqual(pastedFiles(clipboard({ "text/plain": "x".repeat(8_192) })), [])
    })

    it("is a file for a text of more than 8 KB, counted in bytes", () => {
      const [file, ...others] = pastedFiles(clipboard({ "text/plain": "é".repeat(4_097) }))
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual([file?.name, file?.type, file?.size], ["pasted.txt", "text/plain", 8_194])
    })

    it("has the files of the clipboard, but not the picture of a copied table", () => {
      assert.deepStrictEqual(pastedFiles(clipboard({}, [image])), [image])
      assert.deepStrictEqual(pastedFiles(clipboard({ "text/plain": "image.png" }, [image])), [image])
      const table = { "text/plain": "1\t2", "text/html": "<table></table>" }
      assert.deepStrictEqual(pastedFiles(clipboard(table, [image])), [])
    })
  })
})
