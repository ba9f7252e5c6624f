/**
 * Line editor: Node's `readline` edits, and the caller draws. A text can have several lines: pasted ones, and those that end with a backslash
 * or with Alt-Enter.
 *
 * Guarantees: a pasted newline never submits.
 * Does not: write to the terminal.
 */
import { createInterface, type Interface, type Key } from "node:readline"
import { Writable } from "node:stream"

/** What a user does at the keyboard. `typedAt` is the time of the first key of the text, in ms of `now`. */
export interface EditorListener {
  readonly onChange: () => void
  readonly onSubmit: (text: string, typedAt: number) => void
  readonly onInterrupt: () => void
  readonly onEscape: () => void
  readonly onEnd: () => void
  /** The screen is to be drawn again as a whole: Ctrl-L, or a return from the background. */
  readonly onRedraw: () => void
  /** Text of an earlier or later entry; `undefined` at the end of the history. */
  readonly onHistory: (direction: -1 | 1, text: string) => string | undefined
  readonly complete: (line: string) => ReadonlyArray<string>
  readonly now: () => number
}

/** Draws nothing: readline's own output. */
const unseen = () =>
  new Writable({
    write: (_chunk, _encoding, done) => {
      done()
    }
  })

export class LineEditor {
  private readonly listener: EditorListener
  private readonly reader: Interface
  private readonly input: NodeJS.ReadableStream
  /** Lines before the one that readline edits. */
  private above: ReadonlyArray<string> = []
  private isPasting = false
  private typedAt: number | undefined
  /** Before the key that is handled now. */
  private cursorBefore = 0
  private isClosed = false
  private readonly onKey = (_text: string | undefined, key: Key | undefined): void =>
    this.handleKey(key ?? {})

  constructor(input: NodeJS.ReadableStream, listener: EditorListener) {
    this.listener = listener
    this.input = input
    this.reader = createInterface({
      input,
      output: unseen(),
      terminal: true,
      prompt: "",
      historySize: 0,
      escapeCodeTimeout: 50,
      completer: (line: string) => [[...listener.complete(line)], line]
    })
    this.reader.on("line", (line) => this.endLine(line))
    this.reader.on("SIGINT", () => listener.onInterrupt())
    this.reader.on("SIGCONT", () => listener.onRedraw())
    this.reader.on("close", () => {
      if (!this.isClosed) listener.onEnd()
    })
    input.on("keypress", this.onKey)
  }

  get text(): string {
    return [...this.above, this.reader.line].join("\n")
  }

  /** Text before the cursor. */
  get before(): string {
    return [...this.above, this.reader.line.slice(0, this.reader.cursor)].join("\n")
  }

  /** Replaces the text. The cursor is at its end. */
  set(text: string): void {
    const lines = text.split("\n")
    this.above = lines.slice(0, -1)
    this.replaceLine(lines.at(-1) ?? "")
    this.typedAt = undefined
    this.cursorBefore = this.reader.cursor
    this.listener.onChange()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.input.off("keypress", this.onKey)
    this.reader.close()
  }

  private replaceLine(line: string): void {
    this.reader.write(null, { name: "e", ctrl: true })
    this.reader.write(null, { name: "u", ctrl: true })
    if (line !== "") this.reader.write(line)
  }

  private endLine(line: string): void {
    const isContinued = line.endsWith("\\")
    if (this.isPasting || isContinued) {
      this.above = [...this.above, isContinued && !this.isPasting ? line.slice(0, -1) : line]
      return this.listener.onChange()
    }
    const text = [...this.above, line].join("\n")
    const typedAt = this.typedAt ?? this.listener.now()
    this.above = []
    this.typedAt = undefined
    this.listener.onSubmit(text, typedAt)
  }

  private handleKey({ ctrl, meta, name }: Key): void {
    const { listener, reader } = this
    if (this.isClosed) return
    const wasAtStart = this.cursorBefore === 0
    this.cursorBefore = reader.cursor
    if (name === "paste-start" || name === "paste-end") this.isPasting = name === "paste-start"
    else if (name === "return" && meta === true) {
      this.above = [...this.above, reader.line.slice(0, reader.cursor)]
      this.replaceLine(reader.line.slice(reader.cursor))
      reader.write(null, { name: "a", ctrl: true })
    } else if (name === "backspace" && wasAtStart && this.above.length > 0) {
      const last = this.above.at(-1) ?? ""
      this.above = this.above.slice(0, -1)
      reader.write(null, { name: "a", ctrl: true })
      if (last !== "") reader.write(last)
    } else if (name === "l" && ctrl === true) listener.onRedraw()
    else if (name === "escape") listener.onEscape()
    else if (name === "up" || name === "down") {
      const found = listener.onHistory(name === "up" ? -1 : 1, this.text)
      if (found !== undefined) this.set(found)
    }
    this.cursorBefore = reader.cursor
    if (this.text === "") this.typedAt = undefined
    else this.typedAt ??= listener.now()
    listener.onChange()
  }
}
