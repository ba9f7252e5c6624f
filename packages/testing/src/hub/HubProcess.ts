/**
 * A real Hub as a process, with its own home in a temporary folder: `src/main.ts` under this Node, or what was built of it where
 * `CORRAL_TEST_ENTRY=dist` says so, as `npm test` does. Its database is a fresh one on the server that all tests share, or on the
 * one that `CORRAL_TEST_DATABASE_URL` names; or the embedded one.
 *
 * Owns the process, the folder and the database; `remove` ends all of them. `people` acts on the Hub's store beside it.
 */
import { onTestFinished } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { within } from "../time/Within.ts"
import { BrowserClient } from "./BrowserClient.ts"
import { HubClient } from "./HubClient.ts"
import { People } from "./People.ts"
import { dropDatabase, makeDatabase, sharedServer } from "../postgres/SharedPostgres.ts"

const built = process.env["CORRAL_TEST_ENTRY"] === "dist"
const entry = built ? "../../../../dist/hub/index.js" : "../../../hub/src/main.ts"
const main = fileURLToPath(new URL(entry, import.meta.url))
const compiled = fileURLToPath(new URL("../../../../node_modules/.cache/node-compile", import.meta.url))
const outside = process.env["CORRAL_TEST_DATABASE_URL"]

export interface HubOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Its database is its own, in its home. */
  readonly embedded?: boolean
}

export interface HubExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

interface Launched {
  readonly child: ChildProcess
  /** `undefined`: it ended before it was ready. */
  readonly ready: Promise<string | undefined>
  readonly exited: Promise<HubExit>
}

export class HubProcess {
  readonly folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-hub-"))
  readonly home = join(this.folder, "home")
  /** All that any process of this home wrote to stderr. */
  stderr = ""
  url = ""
  databaseUrl: string | undefined
  private readonly options: HubOptions
  private launched: Launched | undefined
  private acting: People | undefined
  /** The database that was made for it on a server that is not its own. */
  private made: string | undefined

  constructor(options: HubOptions = {}) {
    this.options = options
  }

  /** Starts the process; fails with its stderr where it ends before it is ready. */
  async start(): Promise<void> {
    if (this.databaseUrl === undefined) await this.findDatabase()
    this.launched = this.launch()
    const line = await this.isReady(this.launched)
    this.url = (JSON.parse(line) as { readonly url: string }).url
  }

  /** Starts one that is expected to be refused, and waits for its end. */
  async startRefused(): Promise<HubExit> {
    const { child, exited, ready } = this.launch()
    try {
      const exit = await within(exited, 20_000, "the refused Hub's end")
      if ((await ready) !== undefined) throw new Error("the Hub was ready")
      return exit
    } finally {
      child.kill("SIGKILL")
    }
  }

  /** Without a sign-in. */
  get client(): HubClient {
    return new HubClient(this.url, null)
  }

  /** Who makes people and sign-ins in the Hub's store. */
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
    return this.launched?.child.pid ?? 0
  }

  /** Ends it with a signal; gives how it ended. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<HubExit> {
    const launched = this.launched
    if (launched === undefined) return { code: null, signal: null }
    launched.child.kill(signal)
    return within(launched.exited, 12_000, "the Hub's end")
  }

  async remove(): Promise<void> {
    await this.acting?.close()
    await this.end()
    // What a killed Hub left: its server ends with its folder.
    endServer(join(this.home, "postgres", "18", "postmaster.pid"))
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    if (this.made !== undefined) await dropDatabase(this.made)
  }

  private async isReady({ ready }: Launched): Promise<string> {
    const line = await within(ready, 30_000, "the Hub's ready line")
    if (line === undefined) throw new Error(`the Hub ended before it was ready: ${this.stderr}`)
    return line
  }

  private async findDatabase(): Promise<void> {
    if (this.options.embedded === true || this.options.env?.["CORRAL_DATABASE_URL"] !== undefined) return
    if (outside !== undefined) this.made = await makeDatabase(outside, { prepared: false })
    else {
      this.made = await makeDatabase(await sharedServer(), { prepared: true })
    }
    this.databaseUrl = this.made
  }

  private launch(): Launched {
    const child = spawn(process.execPath, [main], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        HOME: this.folder,
        NODE_COMPILE_CACHE: compiled,
        CORRAL_HOME: this.home,
        // Tests ask faster than people do, and sign in more often.
        CORRAL_HUB_REQUESTS_PER_SECOND: "100000",
        CORRAL_HUB_SIGN_INS_PER_MINUTE: "100000",
        ...(this.databaseUrl === undefined ? {} : { CORRAL_DATABASE_URL: this.databaseUrl }),
        ...this.options.env
      }
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
    return { child, ready, exited }
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
