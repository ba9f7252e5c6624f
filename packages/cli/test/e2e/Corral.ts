/** The built `corral` command as real processes, each with a home of the test's own. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const dist = fileURLToPath(new URL("../../../../dist/", import.meta.url))
/** The built command. */
export const program = join(dist, "corral/main.mjs")
const players = fileURLToPath(new URL("../../../adapters/test/fixtures/bin", import.meta.url))
/** Compiled code of all commands: without it, each start compiles the program again. */
const compiled = fileURLToPath(new URL("../../../../node_modules/.cache/node-compile", import.meta.url))

if (!existsSync(program)) throw new Error("dist/corral is missing: npm run build")

/** One process: its lines as they come, and how it ended. */
export class Running {
  readonly child: ChildProcess
  readonly out: Array<string> = []
  stderr = ""
  readonly #ended: Promise<number | string>
  #wake = Promise.withResolvers<void>()

  constructor(command: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv, stdin?: string) {
    this.child = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe"] })
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
      if (this.child.exitCode !== null) throw new Error(`nothing like ${pattern} in:\n${this.stderr}`)
      await Promise.race([this.#wake.promise, this.#ended])
    }
  }

  /** The first line that matches, now or later; fails when the process ends without one. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    for (let at = 0; ; at++) {
      while (at >= this.out.length) {
        if (this.child.exitCode !== null && this.child.stdout?.readableEnded === true) {
          throw new Error(`no line like ${pattern} in:\n${this.out.join("\n")}\n${this.stderr}`)
        }
        await Promise.race([this.#wake.promise, this.#ended])
      }
      const found = pattern.exec(this.out[at] ?? "")
      if (found !== null) return found
    }
  }
}

/** A home, an Edge in it where `up` was called, and commands that find it. */
export class Corral {
  readonly home = join(mkdtempSync(join(tmpdir(), "corral-e2e-")), "home")
  readonly #running: Array<Running> = []

  get environment(): NodeJS.ProcessEnv {
    const path = [players, dirname(process.execPath), process.env.PATH].join(":")
    return { PATH: path, HOME: dirname(this.home), CORRAL_HOME: this.home, NODE_COMPILE_CACHE: compiled }
  }

  start(...args: ReadonlyArray<string>): Running {
    return this.spawn(process.execPath, [program, ...args])
  }

  spawn(command: string, args: ReadonlyArray<string>, extra: NodeJS.ProcessEnv = {}): Running {
    const running = new Running(command, args, { ...this.environment, ...extra })
    this.#running.push(running)
    return running
  }

  /** A command with this stdin, to its end. */
  async feed(stdin: string, ...args: ReadonlyArray<string>) {
    const running = new Running(process.execPath, [program, ...args], this.environment, stdin)
    return { exit: await running.ended, out: running.out, stderr: running.stderr }
  }

  /** A command to its end. */
  async run(...args: ReadonlyArray<string>) {
    const running = this.start(...args)
    return { exit: await running.ended, out: running.out, stderr: running.stderr }
  }

  /** An Edge alone until it serves; gives its process and address. */
  async up(...args: ReadonlyArray<string>): Promise<{ readonly edge: Running; readonly url: string }> {
    const edge = this.start("up", "--edge-only", ...args)
    const [text] = await edge.line(/^\{.*\}$/)
    return { edge, url: JSON.parse(text).url }
  }

  /** Everything until it serves; gives the process, and the addresses of the console and of the Edge. */
  async upWhole(
    ...args: ReadonlyArray<string>
  ): Promise<{ readonly whole: Running; readonly url: string; readonly edge: string }> {
    const whole = this.start("up", "--port", "0", ...args)
    const [text] = await whole.line(/^\{.*\}$/)
    return { whole, ...JSON.parse(text) }
  }

  async close(): Promise<void> {
    for (const { child } of this.#running) child.kill("SIGTERM")
    await Promise.all(this.#running.map(({ ended }) => ended))
    rmSync(dirname(this.home), { recursive: true, force: true })
  }
}
