/**
 * A real Edge as a process, with its own home and workspace in a temporary folder: `src/main.ts` under this Node, or what was built
 * of it where `CORRAL_TEST_ENTRY=dist` says so, as `npm test` does.
 *
 * Owns the process and the folders: `remove` ends both, and whatever a run left behind. It promises nothing about how the Edge answers.
 */
import type { GrantRule } from "@corral/domain/approval/Grant"
import { onTestFinished } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { EdgeClient } from "./EdgeClient.ts"
import { endGroups } from "./ControlGroups.ts"
import { endAll, survivors, type Survivor } from "./Survivors.ts"
import { within } from "../time/Within.ts"

const built = process.env["CORRAL_TEST_ENTRY"] === "dist"
const entry = built ? "../../../../dist/edge/index.js" : "../../../edge/src/main.ts"
const main = fileURLToPath(new URL(entry, import.meta.url))
const compiled = fileURLToPath(new URL("../../../../node_modules/.cache/node-compile", import.meta.url))

export interface EdgeOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly grants?: ReadonlyArray<"full_access" | "project_settings" | GrantRule>
}

export interface EdgeExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The process said it was ready, or ended before: `line` is `undefined` then. */
interface Launched {
  readonly child: ChildProcess
  readonly ready: Promise<string | undefined>
  readonly exited: Promise<EdgeExit>
}

export class EdgeProcess {
  readonly folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-edge-"))
  readonly home = join(this.folder, "home")
  readonly workspace = join(this.folder, "workspace")
  /** Runs that were created through the client: their marks are looked for. */
  readonly runIds = new Set<string>()
  /** All that any process of this home wrote to stderr. */
  stderr = ""
  url = ""
  private readonly options: EdgeOptions
  private launched: Launched | undefined

  constructor(options: EdgeOptions = {}) {
    this.options = options
    mkdirSync(this.workspace)
  }

  /** Starts the process; fails with its stderr where it ends before it is ready. */
  async start(): Promise<void> {
    this.launched = this.launch()
    const line = await within(this.launched.ready, 20_000, "the Edge's ready line")
    if (line === undefined) throw new Error(`the Edge ended before it was ready: ${this.stderr}`)
    const { url } = JSON.parse(line) as { readonly url: string }
    this.url = url
  }

  /** Starts a further process on the same home and waits for its end: it is expected to be refused. */
  async startSecond(): Promise<EdgeExit & { readonly stderr: string }> {
    const before = this.stderr.length
    const { child, exited, ready } = this.launch()
    try {
      const exit = await within(exited, 20_000, "the second Edge's end")
      if ((await ready) !== undefined) throw new Error("the second Edge was ready")
      return { ...exit, stderr: this.stderr.slice(before) }
    } finally {
      child.kill("SIGKILL")
    }
  }

  get client(): EdgeClient {
    return new EdgeClient(this.url, this.token, this.runIds)
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  get token(): string {
    return readFileSync(join(this.home, "edge.token"), "utf8").trim()
  }

  get pid(): number {
    const pid = this.launched?.child.pid
    if (pid === undefined) throw new Error("the Edge is not running")
    return pid
  }

  /** Resident memory in bytes. */
  get memory(): number {
    const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.pid}/status`, "utf8"))?.[1]
    return Number(kilobytes) * 1024
  }

  /** What is alive of the runs of this Edge. */
  survivors(): ReadonlyArray<Survivor> {
    return survivors(this.workspace, this.runIds)
  }

  /** What is alive of one run. */
  survivorsOf(runId: string): ReadonlyArray<Survivor> {
    return survivors(undefined, new Set([runId]))
  }

  signal(signal: NodeJS.Signals): void {
    this.launched?.child.kill(signal)
  }

  /** SIGKILL, and nothing is left running of the Edge itself. */
  async kill(): Promise<void> {
    this.signal("SIGKILL")
    await this.exit()
  }

  /** SIGTERM; the end it comes to within 15 s. */
  async stop(): Promise<EdgeExit> {
    this.signal("SIGTERM")
    return this.exit()
  }

  async exit(): Promise<EdgeExit> {
    if (this.launched === undefined) throw new Error("the Edge was not started")
    return within(this.launched.exited, 15_000, "the Edge's end")
  }

  /** At once, whatever the Edge is at: how it ends by itself is for a test to ask. */
  async remove(): Promise<void> {
    if (this.launched !== undefined) await this.kill()
    await endGroups(this.runIds)
    for (let look = 0; look < 20 && this.survivors().length > 0; look++) endAll(this.survivors())
    rmSync(this.folder, { recursive: true, force: true })
  }

  private launch(): Launched {
    const { env, grants } = this.options
    const workspaces = [{ id: "ws", path: this.workspace, ...(grants === undefined ? {} : { grants }) }]
    const child = spawn(process.execPath, [main], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        HOME: this.folder,
        NODE_COMPILE_CACHE: compiled,
        CORRAL_HOME: this.home,
        CORRAL_EDGE_WORKSPACES: JSON.stringify(workspaces),
        ...env
      }
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text
    })
    const exited = new Promise<EdgeExit>((resolve) => {
      child.once("close", (code, signal) => resolve({ code, signal }))
    })
    const ready = new Promise<string | undefined>((resolve) => {
      let text = ""
      child.stdout.setEncoding("utf8").on("data", (more: string) => {
        text += more
        const end = text.indexOf("\n")
        if (end !== -1) resolve(text.slice(0, end))
      })
      child.once("close", () => resolve(undefined))
    })
    return { child, ready, exited }
  }
}

/** An Edge for one test: started here, ended and removed with the test. */
export const openEdge = async (options: EdgeOptions = {}): Promise<EdgeProcess> => {
  const edge = new EdgeProcess(options)
  onTestFinished(() => edge.remove())
  await edge.start()
  return edge
}
