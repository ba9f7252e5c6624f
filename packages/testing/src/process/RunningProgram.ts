/** A program that a test runs: its lines as they come, and how it ended. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"

export interface RunningOptions {
  readonly env: NodeJS.ProcessEnv
  readonly cwd?: string
  /** In a separate process group, as a terminal starts a command. */
  readonly detached?: boolean
  readonly stdin?: string | undefined
}

/** One process: its lines as they come, and how it ended. */
export class RunningProgram {
  readonly child: ChildProcess
  readonly out: Array<string> = []
  stderr = ""
  readonly #ended: Promise<number | string>
  /** Whether it has ended and all that it printed has been read. */
  #isOver = false
  #wake = Promise.withResolvers<void>()

  constructor(command: string, args: ReadonlyArray<string>, { stdin, ...options }: RunningOptions) {
    this.child = spawn(command, args, { ...options, stdio: ["pipe", "pipe", "pipe"] })
    this.child.stdin?.on("error", () => {}).end(stdin)
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text
      this.#wake.resolve()
      this.#wake = Promise.withResolvers()
    })
    const { stdout } = this.child
    if (stdout === null) throw new Error("stdout is a pipe")
    createInterface({ input: stdout }).on("line", (line) => {
      this.out.push(line)
      this.#wake.resolve()
      this.#wake = Promise.withResolvers()
    })
    this.#ended = once(this.child, "close").then(([code, signal]) => {
      this.#isOver = true
      this.#wake.resolve()
      return code ?? signal
    })
  }

  /** The exit code, or the signal that ended it. */
  get ended(): Promise<number | string> {
    return this.#ended
  }

  /** How it ended, and all that it printed. */
  get done(): Promise<{
    readonly exit: number | string
    readonly out: ReadonlyArray<string>
    readonly stderr: string
  }> {
    return this.#ended.then((exit) => ({ exit, out: this.out, stderr: this.stderr }))
  }

  /** What stderr says that matches, now or later; fails when the process ends without it. */
  async warned(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.stderr)
      if (found !== null) return found
      if (this.#isOver) throw new Error(`nothing like ${pattern} in:\n${this.stderr}`)
      await Promise.race([this.#wake.promise, this.#ended])
    }
  }

  /** The first line that matches, now or later; fails when the process ends without one. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    for (let at = 0; ; at++) {
      while (at >= this.out.length) {
        if (this.#isOver) {
          throw new Error(`no line like ${pattern} in:\n${this.out.join("\n")}\n${this.stderr}`)
        }
        await Promise.race([this.#wake.promise, this.#ended])
      }
      const found = pattern.exec(this.out[at] ?? "")
      if (found !== null) return found
    }
  }
}
