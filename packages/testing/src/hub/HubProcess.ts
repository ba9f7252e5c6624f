/**
 * Real Hub process with its own home in a temporary folder: `src/main.ts` under this Node, or the build with `CORRAL_TEST_ENTRY=dist`, as in
 * `npm test`. Its database is new, on the shared server of the tests or the server of `CORRAL_TEST_DATABASE_URL`; or it is the embedded one, with a
 * data folder that a Hub makes once per run of tests: `initdb` and the migrations take most of a second of a processor.
 *
 * Owns the process, the folder and the database; `remove` ends all of them. `people` uses the Hub's store directly.
 */
import { Effect, Layer } from "effect"
import { HubConfig, hubDefaults } from "@corral/hub/config/HubConfig"
import { hubDatabaseLayer } from "@corral/hub/store/Database"
import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, readFileSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { onTestFinished } from "@effect/vitest"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { folderOfRun, dropDatabase, makeDatabase, sharedServer } from "../postgres/SharedPostgres.ts"
import { within } from "../time/Until.ts"
import { BrowserClient } from "./Browser.ts"
import { HubClient } from "./HubClient.ts"
import { People } from "./People.ts"

const VERSION = "18"

/** Makes it next to its place and renames it: another test process may do the same. */
const prepared = async (): Promise<string> => {
  const place = join(folderOfRun(), "cluster")
  if (existsSync(place)) return place
  const home = mkdtempSync(join(folderOfRun(), "hub-"))
  const database = Layer.provide(hubDatabaseLayer, Layer.succeed(HubConfig, { ...hubDefaults, home }))
  await Effect.runPromise(Effect.scoped(Layer.build(database)))
  try {
    renameSync(join(home, "postgres", VERSION), place)
  } catch (error) {
    if (!existsSync(place)) throw error
  }
  rmSync(home, { recursive: true, force: true })
  return place
}

/** Puts a copy into the home of a Hub that has not started. */
const copyCluster = async (home: string): Promise<void> => {
  const folder = join(home, "postgres")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // With its modes: the server refuses a folder that others may read.
  execFileSync("cp", ["-a", await prepared(), join(folder, VERSION)])
}

const built = process.env["CORRAL_TEST_ENTRY"] === "dist"
const entry = built ? "../../../../dist/hub/index.js" : "../../../hub/src/main.ts"
/** The program of this build. */
export const builtHub = fileURLToPath(new URL(entry, import.meta.url))
const compiled = fileURLToPath(new URL("../../../../node_modules/.cache/node-compile", import.meta.url))
const outside = process.env["CORRAL_TEST_DATABASE_URL"]

export interface HubOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Whether the Hub runs its embedded database: created by its first start, or `prepared` for tests of other features. */
  readonly embedded?: boolean | "prepared"
}

export interface HubExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A Hub that was started. */
export interface LaunchedHub {
  readonly pid: number | undefined
  readonly signal: (signal: NodeJS.Signals) => void
  /** Its ready line; `undefined` if it ended before. */
  readonly ready: Promise<string | undefined>
  readonly exited: Promise<HubExit>
}

export class HubProcess {
  readonly folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-hub-"))
  readonly home = join(this.folder, "home")
  /** stderr of all processes of this home. */
  stderr = ""
  url = ""
  databaseUrl: string | undefined
  /** The program of the next start. */
  entry = builtHub
  private readonly options: HubOptions
  private launched: LaunchedHub | undefined
  private acting: People | undefined
  /** Database that was created for this Hub on a shared server. */
  private createdDatabase: string | undefined

  constructor(options: HubOptions = {}) {
    this.options = options
  }

  /** Starts the process. Fails with its stderr if it exits before it is ready. */
  async start(): Promise<void> {
    if (this.databaseUrl === undefined) await this.findDatabase()
    this.launched = this.launch()
    const line = await this.isReady(this.launched)
    this.url = (JSON.parse(line) as { readonly url: string }).url
  }

  /** Starts a process that is expected to be refused, and waits for its exit. */
  async startRefused(): Promise<HubExit> {
    const { exited, ready, signal } = this.launch()
    try {
      const exit = await within(exited, 20_000, "the refused Hub's end")
      if ((await ready) !== undefined) throw new Error("the Hub was ready")
      return exit
    } finally {
      signal("SIGKILL")
    }
  }

  /** Without a sign-in. */
  get client(): HubClient {
    return new HubClient(this.url, null)
  }

  /** Creates users and sign-ins in the Hub's store. */
  get people(): People {
    this.acting ??= new People(this.home, this.databaseUrl)
    return this.acting
  }

  /** A client with the sign-in of a new person of that name. */
  async signedIn(name: string): Promise<HubClient> {
    const { token, userId } = await this.people.signIn(name)
    return new HubClient(this.url, token, userId)
  }

  /** A client with the browser sign-in of a person of that name, begun now. */
  async atBrowser(name: string): Promise<BrowserClient> {
    return new BrowserClient(this.url, await this.people.signIn(name, "web"))
  }

  get pid(): number {
    return this.launched?.pid ?? 0
  }

  /** Sends a signal and returns the exit. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<HubExit> {
    const launched = this.launched
    if (launched === undefined) return { code: null, signal: null }
    launched.signal(signal)
    return within(launched.exited, 12_000, "the Hub's end")
  }

  async remove(): Promise<void> {
    await this.acting?.close()
    await this.end()
    // A killed Hub leaves its database server running.
    endServer(join(this.home, "postgres", "18", "postmaster.pid"))
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    if (this.createdDatabase !== undefined) await dropDatabase(this.createdDatabase)
  }

  private async isReady({ ready }: LaunchedHub): Promise<string> {
    const line = await within(ready, 30_000, "the Hub's ready line")
    if (line === undefined) throw new Error(`the Hub ended before it was ready: ${this.stderr}`)
    return line
  }

  private async findDatabase(): Promise<void> {
    const { embedded = false, env } = this.options
    if (embedded === "prepared" && !existsSync(join(this.home, "postgres"))) await copyCluster(this.home)
    if (embedded !== false || env?.["CORRAL_DATABASE_URL"] !== undefined) return
    if (outside !== undefined) this.createdDatabase = await makeDatabase(outside, { prepared: false })
    else {
      this.createdDatabase = await makeDatabase(await sharedServer(), { prepared: true })
    }
    this.databaseUrl = this.createdDatabase
  }

  /** Environment of the Hub. */
  protected get environment(): Readonly<Record<string, string>> {
    return {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: this.folder,
      NODE_COMPILE_CACHE: compiled,
      CORRAL_HOME: this.home,
      // Tests send requests and sign in more often than people do.
      CORRAL_HUB_REQUESTS_PER_SECOND: "100000",
      CORRAL_HUB_SIGN_INS_PER_MINUTE: "100000",
      ...(this.databaseUrl === undefined ? {} : { CORRAL_DATABASE_URL: this.databaseUrl }),
      ...this.options.env
    }
  }

  protected launch(): LaunchedHub {
    const child = spawn(process.execPath, [this.entry], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: this.environment
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text
    })
    const exited = new Promise<HubExit>((resolve) => {
      child.once("close", (code, signal) => resolve({ code, signal }))
    })
    const ready = new Promise<string | undefined>((resolve) => {
      let text = ""
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk
        if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")))
      })
      void exited.then(() => resolve(undefined))
    })
    return { pid: child.pid, signal: (name) => void child.kill(name), ready, exited }
  }
}

/** A Hub for one test. */
export const openHub = async (options?: HubOptions): Promise<HubProcess> => {
  const hub = new HubProcess(options)
  onTestFinished(() => hub.remove())
  await hub.start()
  return hub
}

const endServer = (pidFile: string): void => {
  try {
    process.kill(Number.parseInt(readFileSync(pidFile, "utf8"), 10), "SIGKILL")
  } catch {
    // It has ended.
  }
}
