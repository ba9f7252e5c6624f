/** A command with a reader of its output that pauses until the test resumes it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { program, type Corral } from "./Corral.ts"

export class SlowReader {
  readonly #child
  readonly #ended: Promise<unknown>

  constructor(corral: Corral, ...args: ReadonlyArray<string>) {
    this.#child = spawn(process.execPath, [program, ...args], {
      env: corral.environment,
      stdio: ["ignore", "pipe", "inherit"]
    })
    this.#ended = once(this.#child, "exit").then(([code]: ReadonlyArray<unknown>) => code)
  }

  /** There is something to read; the rest fills the pipe. */
  async waits(): Promise<void> {
    await once(this.#child.stdout, "readable")
  }

  /** Reads to the end: the lines, and the exit code. */
  async rest(): Promise<{ readonly lines: ReadonlyArray<string>; readonly exit: unknown }> {
    let text = ""
    for await (const part of this.#child.stdout.setEncoding("utf8")) text += String(part)
    return { lines: text.split("\n").slice(0, -1), exit: await this.#ended }
  }

  /** Reads no more, as `head` does. */
  async leave(): Promise<unknown> {
    this.#child.stdout.destroy()
    return this.#ended
  }
}
