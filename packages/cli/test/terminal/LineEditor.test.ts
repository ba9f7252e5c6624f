import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { PassThrough } from "node:stream"
import { LineEditor } from "../../src/terminal/LineEditor.ts"

/** An editor, and what happened in it. */
const open = () => {
  const input = new PassThrough()
  const events: Array<string> = []
  let time = 0
  const history = ["first", "second\nline"]
  let at = history.length
  const editor = new LineEditor(input, {
    onChange: () => undefined,
    onSubmit: (text, typedAt) => events.push(`submit ${JSON.stringify(text)} ${typedAt}`),
    onInterrupt: () => events.push("interrupt"),
    onEscape: () => events.push("escape"),
    onEnd: () => events.push("end"),
    onRedraw: () => events.push("redraw"),
    onHistory: (direction) => {
      at = Math.max(0, at + direction)
      return history[at] ?? ""
    },
    complete: (line) => ["/mode", "/model"].filter((each) => each.startsWith(line)),
    now: () => time
  })
  onTestFinished(() => editor.close())
  /** readline handles keys when the stream does. */
  const type = async (keys: string) => {
    input.write(keys)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    editor,
    events,
    type,
    setTime: (now: number) => {
      time = now
    }
  }
}

describe("LineEditor", () => {
  it("submits a line with the time of its first key", async () => {
    const { editor, events, setTime, type } = open()
    setTime(100)
    await type("h")
    setTime(900)
    await type("ello")
    assert.deepStrictEqual([editor.text, editor.before], ["hello", "hello"])
    await type("\u001b[D")
    assert.strictEqual(editor.before, "hell")
    await type("\r")
    assert.deepStrictEqual(events, ['submit "hello" 100'])
    assert.strictEqual(editor.text, "")
  })

  it("keeps wide characters whole when the cursor moves", async () => {
    const { editor, type } = open()
    await type("说👍x")
    await type("\u001b[D\u001b[D")
    assert.strictEqual(editor.before, "说")
    await type("\u007f")
    assert.strictEqual(editor.text, "👍x")
  })

  it("continues a line after a backslash, Alt-Enter and in pasted text, and submits all of it", async () => {
    const { editor, events, type } = open()
    await type("one\\\r")
    await type("two\u001b\r")
    await type("\u001b[200~three\rfour\u001b[201~")
    assert.strictEqual(editor.text, "one\ntwo\nthree\nfour")
    assert.deepStrictEqual(events, [])
    await type("\r")
    assert.deepStrictEqual(events, ['submit "one\\ntwo\\nthree\\nfour" 0'])
  })

  it("joins lines with Backspace at the start of one", async () => {
    const { editor, type } = open()
    await type("one\\\r")
    await type("two")
    await type("\u001b[H")
    await type("\u007f")
    assert.deepStrictEqual([editor.text, editor.before], ["onetwo", "one"])
  })

  it("shows history entries, completes commands, and reports Ctrl-C and Ctrl-D", async () => {
    const { editor, events, type } = open()
    await type("\u001b[A")
    assert.strictEqual(editor.text, "second\nline")
    await type("\u001b[A")
    assert.strictEqual(editor.text, "first")
    editor.set("/mo")
    await type("\t")
    assert.strictEqual(editor.text, "/mode")
    await type("\u0003")
    assert.deepStrictEqual(events, ["interrupt"])
    editor.set("")
    await type("\u0004")
    assert.deepStrictEqual(events, ["interrupt", "end"])
  })
})
