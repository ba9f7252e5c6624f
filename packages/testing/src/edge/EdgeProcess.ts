/**
 * Real Edge process with its own home and workspace in a temporary folder: `src/main.ts` under this Node, or the build with
 * `CORRAL_TEST_ENTRY=dist`, as in `npm test`.
 *
 * Owns the process and the folders: `remove` ends both, and processes that a run left behind.
 */
import {
  lchownSync,
  readdirSync,
  statSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync
} from "node:fs"
import { join } from "node:path"
import type { GrantRule } from "@corral/domain/approval/Grant"
import { onTestFinished } from "@effect/vitest"
import Database from "better-sqlite3"
import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { EdgeClient } from "./EdgeClient.ts"
import { endAll, endGroups, endHolder, type Survivor, survivors } from "./Survivors.ts"
import { residentMemory } from "../process/ProcessCosts.ts"
import { within } from "../time/Until.ts"

export const giveTo = (user: number, path: string): void => {
  lchownSync(path, user, user)
  if (!statSync(path).isDirectory()) return
  for (const entry of readdirSync(path, { recursive: true, encoding: "utf8" }))
    lchownSync(join(path, entry), user, user)
}

const built = process.env["CORRAL_TEST_ENTRY"] === "dist"
const entry = built ? "../../../../dist/edge/index.js" : "../../../edge/src/main.ts"
const main = fileURLToPath(new URL(entry, import.meta.url))
/** Confinement of every Edge of the tests that does not name one: most tests are about other parts, and start faster without. */
const confinement = process.env["CORRAL_TEST_CONFINEMENT"] ?? "off"
/** Most tests end their Edge and expect that nothing is left. */
const orphanMs = "0"
const compiled = fileURLToPath(new URL("../../../../node_modules/.cache/node-compile", import.meta.url))

export interface EdgeOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly grants?: ReadonlyArray<"full_access" | "project_settings" | "confined" | GrantRule>
  /** Without a setting for the confinement, as users start an Edge. */
  readonly hasDefaultConfinement?: boolean
  /** Starts the process as this user, who owns its folders. For tests that run as root. */
  readonly user?: number
}

export interface EdgeExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** An Edge that was started. */
export interface LaunchedEdge {
  readonly pid: number | undefined
  readonly signal: (signal: NodeJS.Signals) => void
  /** Its ready line; `undefined` if it ended before. */
  readonly ready: Promise<string | undefined>
  readonly exited: Promise<EdgeExit>
}

export class EdgeProcess {
  readonly folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-edge-"))
  readonly home = join(this.folder, "home")
  readonly workspace = join(this.folder, "workspace")
  /** Runs that the client created, for the search for their marks. */
  readonly runIds = new Set<string>()
  /** stderr of all processes of this home. */
  stderr = ""
  url = ""
  /** The program of the next start. */
  entry = main
  private readonly options: EdgeOptions
  private launched: LaunchedEdge | undefined

  constructor(options: EdgeOptions = {}) {
    this.options = options
    mkdirSync(this.workspace)
    if (options.user !== undefined) giveTo(options.user, this.folder)
  }

  /** Starts the process. Fails with its stderr if it exits before it is ready. */
  async start(): Promise<void> {
    this.launched = this.launch()
    const line = await within(this.launched.ready, 20_000, "the Edge's ready line")
    if (line === undefined) throw new Error(`the Edge ended before it was ready: ${this.stderr}`)
    const { url } = JSON.parse(line) as { readonly url: string }
    this.url = url
  }

  /** Starts another process on the same home and waits for its exit. It is expected to be refused. */
  async startSecond(): Promise<EdgeExit & { readonly stderr: string }> {
    const before = this.stderr.length
    const { exited, ready, signal } = this.launch()
    try {
      const exit = await within(exited, 20_000, "the second Edge's end")
      if ((await ready) !== undefined) throw new Error("the second Edge was ready")
      return { ...exit, stderr: this.stderr.slice(before) }
    } finally {
      signal("SIGKILL")
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
    const pid = this.launched?.pid
    if (pid === undefined) throw new Error("the Edge is not running")
    return pid
  }

  /** Resident memory in bytes. */
  get memory(): number {
    return residentMemory(this.pid)
  }

  /** Processes of this Edge's runs that are alive. */
  survivors(): ReadonlyArray<Survivor> {
    return survivors(this.workspace, this.runIds)
  }

  /** Processes of one run that are alive. */
  survivorsOf(runId: string): ReadonlyArray<Survivor> {
    return survivors(undefined, new Set([runId]))
  }

  signal(signal: NodeJS.Signals): void {
    this.launched?.signal(signal)
  }

  /** Sends SIGKILL and waits until the Edge itself has ended. */
  async kill(): Promise<void> {
    this.signal("SIGKILL")
    await this.exit()
  }

  /** Sends SIGTERM and returns the exit, within 15 s. */
  async stop(): Promise<EdgeExit> {
    this.signal("SIGTERM")
    return this.exit()
  }

  async exit(): Promise<EdgeExit> {
    if (this.launched === undefined) throw new Error("the Edge was not started")
    return within(this.launched.exited, 15_000, "the Edge's end")
  }

  /** Ends the Edge as fast as it can. */
  protected end(): Promise<unknown> {
    return this.kill()
  }

  /** Ends the Edge. A test that checks an orderly stop does so before. */
  async remove(): Promise<void> {
    if (this.launched !== undefined) await this.end()
    if (this.environment["CORRAL_EDGE_ORPHAN_MS"] !== "0") endHolder(this.home, "SIGKILL")
    await endGroups(this.runIds, this.storedId())
    for (let look = 0; look < 20 && this.survivors().length > 0; look++) endAll(this.survivors())
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** The id that the Edge keeps in its store; its control group bears it, also where a run came from a Hub or a command. */
  private storedId(): string | undefined {
    try {
      const store = new Database(join(this.home, "edge.db"), { readonly: true })
      try {
        return (store.prepare("SELECT id FROM edge").get() as { readonly id: string } | undefined)?.id
      } finally {
        store.close()
      }
    } catch {
      // A test damaged the store or started no Edge: nothing to look for.
      return undefined
    }
  }

  /** Environment of the Edge. */
  protected get environment(): Readonly<Record<string, string>> {
    const { env, grants, hasDefaultConfinement: isDefault = false } = this.options
    const workspaces = [{ id: "ws", path: this.workspace, ...(grants === undefined ? {} : { grants }) }]
    return {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: this.folder,
      NODE_COMPILE_CACHE: compiled,
      CORRAL_HOME: this.home,
      CORRAL_EDGE_WORKSPACES: JSON.stringify(workspaces),
      CORRAL_EDGE_ORPHAN_MS: orphanMs,
      ...(isDefault ? {} : { CORRAL_EDGE_CONFINEMENT: confinement }),
      ...env
    }
  }

  protected launch(): LaunchedEdge {
    const { user } = this.options
    const child = spawn(process.execPath, [this.entry], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
      ...(user === undefined ? {} : { uid: user, gid: user }),
      env: this.environment
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
    return { pid: child.pid, signal: (name) => void child.kill(name), ready, exited }
  }
}

/** Starts an Edge for one test and removes it after the test. */
export const openEdgeProcess = async (options: EdgeOptions = {}): Promise<EdgeProcess> => {
  const edge = new EdgeProcess(options)
  onTestFinished(() => edge.remove())
  await edge.start()
  return edge
}
