/**
 * Messages that a user sent in chats, for the arrow keys: `chat-history` in a Corral home.
 *
 * *Guarantees:* mode 0600 and atomic writes. Secrets of a known form, and secret values of the environment, are redacted. A home that cannot
 * be written has no history.
 */
import { Redaction, secretsOf } from "@corral/redaction/Redaction"
import { makeFolder } from "@corral/service/MakeFolder"
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

export const HISTORY_FILE = "chat-history"
const MAX_ENTRIES = 500
const MAX_ENTRY = 16_384

const readEntries = (path: string): ReadonlyArray<string> => {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .flatMap((line) => {
        const entry: unknown = line === "" ? undefined : JSON.parse(line)
        return typeof entry === "string" ? [entry] : []
      })
  } catch {
    return []
  }
}

export class ChatHistory {
  private readonly path: string
  private readonly redaction: Redaction
  private entries: ReadonlyArray<string>
  /** Position of the shown entry; the number of entries for the text that the user writes. */
  private at: number
  private draft = ""

  constructor(path: string, environment: Readonly<Record<string, string>>) {
    this.path = path
    this.redaction = new Redaction(secretsOf(environment))
    this.entries = readEntries(path)
    this.at = this.entries.length
  }

  /** An earlier or later entry. The text that the user was writing is after the last one. */
  move(direction: -1 | 1, text: string): string | undefined {
    const next = this.at + direction
    if (next < 0 || next > this.entries.length) return undefined
    if (this.at === this.entries.length) this.draft = text
    this.at = next
    return next === this.entries.length ? this.draft : this.entries[next]
  }

  add(text: string): void {
    const entry = this.redaction.text(text.slice(0, MAX_ENTRY))
    this.entries = [...this.entries.filter((each) => each !== entry), entry].slice(-MAX_ENTRIES)
    this.at = this.entries.length
    this.draft = ""
    this.write()
  }

  private write(): void {
    const temporary = `${this.path}.${process.pid}`
    try {
      makeFolder(dirname(this.path))
      rmSync(temporary, { force: true })
      const content = this.entries.map((entry) => `${JSON.stringify(entry)}\n`).join("")
      writeFileSync(temporary, content, { mode: 0o600, flag: "wx" })
      chmodSync(temporary, 0o600)
      renameSync(temporary, this.path)
    } catch {
      rmSync(temporary, { force: true })
    }
  }
}
