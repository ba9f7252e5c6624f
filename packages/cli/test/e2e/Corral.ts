/** The built `corral` command as real processes, each with a home of the test's own. */
import { RunningProgram } from "@corral/testing/process/RunningProgram"
import { TerminalProgram } from "@corral/testing/process/TerminalProgram"
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const dist = fileURLToPath(new URL("../../../../dist/", import.meta.url))
/** The built command as users start it, on any Node. */
const command = join(dist, "corral")
/** The built command. */
export const program = join(command, "main.mjs")
/** Programs that speak as recorded agents did. */
export const players = fileURLToPath(new URL("../../../adapters/test/fixtures/bin", import.meta.url))
/** Compiled code of all commands: without it, each start compiles the program again. */
const compiled = fileURLToPath(new URL("../../../../node_modules/.cache/node-compile", import.meta.url))

if (!existsSync(program)) throw new Error("dist/corral is missing: npm run build")

/** How a machine differs from the one of the tests. */
export interface Machine {
  /** Without a setting for confinement, as users start Corral. */
  readonly hasDefaultConfinement?: boolean
  /** Runs outlive their Edge, as for users. */
  readonly hasLastingRuns?: boolean
  /** Folders of programs, instead of those of this machine and of recorded agents. */
  readonly path?: string
  /** The Node that `node` means. */
  readonly node?: string
  /** Words that start a command as another user, who then owns the home. */
  readonly as?: { readonly words: ReadonlyArray<string>; readonly uid: number; readonly gid: number }
}

/** A home, an Edge in it where `up` was called, and commands that find it. */
export class Corral {
  readonly home: string
  readonly #running: Array<RunningProgram | TerminalProgram> = []
  readonly #machine: Machine

  constructor(machine: Machine = {}) {
    this.#machine = machine
    const { as } = machine
    // The folder of the tests is private.
    const folder = mkdtempSync(join(as === undefined ? tmpdir() : "/tmp", "corral-e2e-"))
    if (as !== undefined) chownSync(folder, as.uid, as.gid)
    this.home = join(folder, "home")
  }

  get environment(): NodeJS.ProcessEnv {
    const { hasDefaultConfinement, hasLastingRuns, path } = this.#machine
    return {
      PATH: path ?? [players, dirname(process.execPath), process.env.PATH].join(":"),
      HOME: dirname(this.home),
      CORRAL_HOME: this.home,
      NODE_COMPILE_CACHE: compiled,
      ...(hasLastingRuns === true ? {} : { CORRAL_EDGE_ORPHAN_MS: "0" }),
      ...(hasDefaultConfinement === true ? {} : { CORRAL_EDGE_CONFINEMENT: "off" })
    }
  }

  start(...args: ReadonlyArray<string>): RunningProgram {
    return this.spawn(process.execPath, [program, ...args])
  }

  /** A command in a terminal of that width. */
  inTerminal(columns: number, ...args: ReadonlyArray<string>): TerminalProgram {
    const env = { ...this.environment, NO_COLOR: "1" }
    const { as, node = process.execPath } = this.#machine
    const running = new TerminalProgram([...(as?.words ?? []), node, command, ...args], { columns, env })
    this.#running.push(running)
    return running
  }

  spawn(command: string, args: ReadonlyArray<string>, extra: NodeJS.ProcessEnv = {}): RunningProgram {
    const running = new RunningProgram(command, args, { env: { ...this.environment, ...extra } })
    this.#running.push(running)
    return running
  }

  /** A command with this stdin, to its end. */
  async feed(stdin: string, ...args: ReadonlyArray<string>) {
    const running = new RunningProgram(process.execPath, [program, ...args], { env: this.environment, stdin })
    return { exit: await running.ended, out: running.out, stderr: running.stderr }
  }

  /** A command to its end. */
  async run(...args: ReadonlyArray<string>) {
    const running = this.start(...args)
    return { exit: await running.ended, out: running.out, stderr: running.stderr }
  }

  /** An Edge alone until it serves; gives its process and address. */
  async up(...args: ReadonlyArray<string>): Promise<{ readonly edge: RunningProgram; readonly url: string }> {
    const edge = this.start("up", "--edge-only", ...args)
    const [text] = await edge.line(/^\{.*\}$/)
    return { edge, url: JSON.parse(text).url }
  }

  /** Everything until it serves; gives the process, and the addresses of the console and of the Edge. */
  async upWhole(
    ...args: ReadonlyArray<string>
  ): Promise<{ readonly whole: RunningProgram; readonly url: string; readonly edge: string }> {
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
