/**
 * A program in a pseudo terminal of util-linux' `script`, and its screen as text.
 *
 * The screen is that of a terminal emulator (`@xterm/headless`), so that a test reads what a user sees.
 */
import xterm from "@xterm/headless"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { within } from "../time/Until.ts"

export const scriptProgram = "/usr/bin/script"

/** Whether this machine has pseudo terminals for tests. */
export const hasTerminals = existsSync(scriptProgram)

export interface TerminalOptions {
  readonly env: NodeJS.ProcessEnv
  readonly columns: number
  readonly rows?: number
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

export class TerminalProgram {
  readonly child: ChildProcess
  /** Everything that the program wrote. */
  raw = ""
  readonly ended: Promise<number | string>
  private readonly terminal: xterm.Terminal
  private wake = Promise.withResolvers<void>()
  private isEnded = false

  constructor(command: ReadonlyArray<string>, { columns, env, rows = 24 }: TerminalOptions) {
    this.terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true })
    const line = `stty cols ${columns} rows ${rows}; exec ${command.map(quoted).join(" ")}`
    this.child = spawn(scriptProgram, ["-qefc", line, "/dev/null"], {
      env: { TERM: "xterm-256color", LANG: "C.UTF-8", ...env },
      stdio: ["pipe", "pipe", "pipe"]
    })
    this.child.stdin?.on("error", () => undefined)
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.raw += text
      this.terminal.write(text, () => this.notify())
    })
    this.ended = once(this.child, "close").then(async ([code, signal]) => {
      // The terminal reads what was written a moment later.
      await new Promise<void>((resolve) => this.terminal.write("", resolve))
      this.isEnded = true
      this.notify()
      return code ?? signal
    })
  }

  /** Ends the program in the terminal without giving it a chance to say anything. */
  kill(): void {
    const { pid } = this.child
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")
    for (const child of children.filter((id) => id !== "")) process.kill(Number(child), "SIGKILL")
  }

  /** Writes to the keyboard. */
  type(text: string): void {
    this.child.stdin?.write(text)
  }

  /** Types a line and presses Enter. */
  enter(line: string): void {
    this.type(`${line}\r`)
  }

  /** All rows, with those that have scrolled out, without empty ones at the end. */
  get rows(): ReadonlyArray<string> {
    const { active } = this.terminal.buffer
    const rows = Array.from(
      { length: active.length },
      (_, at) => active.getLine(at)?.translateToString(true) ?? ""
    )
    while (rows.at(-1) === "") rows.pop()
    return rows
  }

  get screen(): string {
    return this.rows.join("\n")
  }

  /** Rows that the terminal wrapped, because they were too wide. */
  get wrapped(): ReadonlyArray<string> {
    const { active } = this.terminal.buffer
    return Array.from({ length: active.length }, (_, at) => active.getLine(at))
      .filter((row) => row?.isWrapped === true)
      .map((row) => row?.translateToString(true) ?? "")
  }

  /** Column and row of the cursor on the screen, from 0. */
  get cursor(): { readonly column: number; readonly row: number } {
    const { active } = this.terminal.buffer
    return { column: active.cursorX, row: active.baseY + active.cursorY }
  }

  /** The screen once it matches, now or later. Fails when the program ends without it. */
  async shows(pattern: RegExp | ((screen: string) => boolean), millis = 30_000): Promise<string> {
    const isShown = (): boolean =>
      pattern instanceof RegExp ? pattern.test(this.screen) : pattern(this.screen)
    const look = async (): Promise<string> => {
      while (!isShown()) {
        if (this.isEnded) throw new Error(`The program ended without ${pattern}:\n${this.screen}`)
        await this.wake.promise
      }
      return this.screen
    }
    try {
      return await within(look(), millis, `a screen like ${pattern}`)
    } catch (cause) {
      throw new Error(`${cause instanceof Error ? cause.message : cause}\n${this.screen}`, { cause })
    }
  }

  private notify(): void {
    this.wake.resolve()
    this.wake = Promise.withResolvers()
  }
}
