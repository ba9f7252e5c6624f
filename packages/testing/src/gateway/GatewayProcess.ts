/**
 * A real Gateway as a process, over its own database: `src/main.ts` under this Node, or what was built of
 * it where `CORRAL_TEST_ENTRY=dist` says so; or, for what is done with events, `handling.ts`.
 *
 * Owns the process and the database; `remove` ends both. Every answer is judged against the published contract.
 */
import { assert } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { query } from "../postgres/PostgresServer.ts"
import { dropDatabase, makeDatabase, sharedServer } from "../postgres/SharedPostgres.ts"
import { bundledProgram } from "../process/BundledProgram.ts"
import { type Answer, contractOf } from "../http/Contract.ts"
import { until, within } from "../time/Until.ts"
import { APP, BOT, KEY, type SentBotMessage, TENANT, TOKEN } from "./FakeFeishu.ts"

const built = process.env["CORRAL_TEST_ENTRY"] === "dist"
const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const compiled = pathOf("../../../../node_modules/.cache/node-compile")
const main = pathOf(built ? "../../../../dist/gateway/index.js" : "../../../gateway/src/main.ts")

const breaches = contractOf("gateway")

export interface GatewayOptions {
  readonly entry?: "main" | "handling"
  readonly env?: Readonly<Record<string, string>>
  /** A PostgreSQL's address, as its superuser; without it the one that all tests share. */
  readonly server?: string
  /** Of another one, to share. */
  readonly databaseUrl?: string
}

export interface GatewayExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export const EVENTS = "/integrations/feishu/events"
export const CARDS = "/integrations/feishu/card-actions"

export class GatewayProcess {
  stderr = ""
  url = ""
  databaseUrl = ""
  private readonly agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
  private readonly options: GatewayOptions
  private child: ChildProcess | undefined
  private exited: Promise<GatewayExit> = Promise.resolve({ code: null, signal: null })

  constructor(options: GatewayOptions = {}) {
    this.options = options
    this.databaseUrl = options.databaseUrl ?? ""
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  async start(): Promise<void> {
    await this.prepare()
    const line = await within(this.launch(), 30_000, "the Gateway's ready line")
    if (line === undefined) throw new Error(`the Gateway ended before it was ready: ${this.stderr}`)
    this.url = (JSON.parse(line) as { readonly url: string }).url
  }

  /** Starts one that is expected to be refused, and waits for its end. */
  async startRefused(): Promise<GatewayExit> {
    await this.prepare()
    const line = await within(this.launch(), 30_000, "the refused Gateway's end")
    if (line !== undefined) throw new Error("the Gateway was ready")
    return this.exited
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<GatewayExit> {
    this.child?.kill(signal)
    return within(this.exited, 12_000, "the Gateway's end")
  }

  /** Waits until another process ends it. */
  async ended(): Promise<GatewayExit> {
    return within(this.exited, 30_000, "the Gateway's end")
  }

  async remove(): Promise<void> {
    await this.end("SIGKILL")
    const isOwn = this.options.databaseUrl === undefined && this.databaseUrl !== ""
    if (isOwn) await dropDatabase(this.databaseUrl)
  }

  async query(text: string): Promise<ReadonlyArray<Record<string, unknown>>> {
    return query(this.databaseUrl, text)
  }

  /** A number that a statement counts. */
  async count(text: string): Promise<number> {
    const [row] = await this.query(`SELECT count(*)::int AS n ${text}`)
    return Number(row?.["n"])
  }

  /** Until the handler was called for them and no turn is left. */
  async settled(effects: number, millis = 30_000): Promise<void> {
    await until(
      async () =>
        (await this.count("FROM effects")) >= effects && (await this.waiting()) === 0 ? true : undefined,
      `${effects} effects`,
      millis
    )
  }

  /** Events that are kept and not done. */
  async waiting(): Promise<number> {
    return this.count("FROM corral_gateway.inbox WHERE done_at IS NULL")
  }

  async send(sent: SentBotMessage, path = EVENTS): Promise<Answer<Record<string, unknown>>> {
    const response = await fetch(this.url + path, {
      method: "POST",
      headers: sent.headers,
      body: new Uint8Array(sent.body)
    })
    return this.checked("POST", path, response)
  }

  /** Sends as a platform and its people do: again, while the event could not be stored in time. */
  deliver(sent: SentBotMessage, path = EVENTS): Promise<Answer<Record<string, unknown>>> {
    return until(async () => {
      const answer = await this.send(sent, path)
      return answer.status === 503 || "toast" in answer.body ? undefined : answer
    }, "an answer to a stored event")
  }

  /** Locks the inbox until the returned function is called. */
  async holdInbox(): Promise<() => Promise<void>> {
    const client = new Client({ connectionString: this.databaseUrl })
    await client.connect()
    await client.query("BEGIN")
    await client.query("LOCK TABLE corral_gateway.inbox IN ACCESS EXCLUSIVE MODE")
    return async () => {
      await client.query("ROLLBACK")
      await client.end()
    }
  }

  /** One request of a burst: returns the status, and the milliseconds from when it was written to when it was answered. */
  sendTimed({ body, headers }: SentBotMessage, path = EVENTS): Promise<{ status: number; millis: number }> {
    return new Promise((resolve, reject) => {
      let written = performance.now()
      const sending = request(this.url + path, {
        method: "POST",
        headers: { ...headers, "content-length": body.length },
        agent: this.agent
      })
      sending.once("finish", () => {
        written = performance.now()
      })
      sending.once("response", (answer) => {
        answer.resume()
        resolve({ status: answer.statusCode ?? 0, millis: performance.now() - written })
      })
      sending.once("error", reject)
      sending.end(body)
    })
  }

  /** Byte by byte, each in its own chunk; returns the status. */
  async sendInPieces({ body, headers }: SentBotMessage, path = EVENTS): Promise<number | undefined> {
    const sending = request(this.url + path, { method: "POST", headers })
    for (const byte of body) sending.write(Buffer.of(byte))
    sending.end()
    const [answer] = (await within(once(sending, "response"), 10_000, "an answer")) as [IncomingMessage]
    answer.resume()
    return answer.statusCode
  }

  async get(path: string): Promise<Answer<Record<string, unknown>>> {
    return this.checked("GET", path, await fetch(this.url + path))
  }

  private async checked(method: string, path: string, response: Response) {
    const text = await response.text()
    // Slack's events and clicks are answered without a body.
    const body = JSON.parse(text === "" ? "{}" : text) as Record<string, unknown>
    const { headers, status } = response
    const what = `${method} ${path} ${status} ${text}`
    assert.match(headers.get("x-request-id") ?? "", /^[A-Za-z0-9._-]{1,128}$/, what)
    assert.strictEqual(headers.get("x-contract-version"), "2026-06-09", what)
    if (status >= 400 && path !== "/health")
      assert.strictEqual(body["requestId"], headers.get("x-request-id"), what)
    for (const secret of [KEY, TOKEN]) assert.notInclude(text, secret)
    assert.deepStrictEqual(breaches(method, path, status, body), [], what)
    return { status, headers, text, body }
  }

  /** Makes the database, with the tables that `handling.ts` writes to; once, and not for who shares it. */
  async prepare(): Promise<void> {
    if (this.databaseUrl !== "") return
    const server = this.options.server ?? (await sharedServer())
    this.databaseUrl = await makeDatabase(server, { prepared: false })
    await this.query(
      `CREATE TABLE calls (key text NOT NULL, event json NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
       CREATE TABLE effects (key text PRIMARY KEY)`
    )
  }

  private launch(): Promise<string | undefined> {
    const { entry = "main", env } = this.options
    const child = spawn(process.execPath, [entry === "main" ? main : bundledProgram(pathOf("handling.ts"))], {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        NODE_COMPILE_CACHE: compiled,
        CORRAL_DATABASE_URL: this.databaseUrl,
        // Tests ask faster than platforms do.
        CORRAL_GATEWAY_REQUESTS_PER_SECOND: "100000",
        CORRAL_FEISHU_APP_ID: APP,
        CORRAL_FEISHU_ENCRYPT_KEY: KEY,
        CORRAL_FEISHU_VERIFICATION_TOKEN: TOKEN,
        CORRAL_FEISHU_TENANTS: TENANT,
        CORRAL_FEISHU_BOT_ID: BOT,
        ...env
      }
    })
    this.child = child
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text
    })
    this.exited = new Promise((resolve) => {
      child.once("close", (code, signal) => resolve({ code, signal }))
    })
    return new Promise((resolve) => {
      let text = ""
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk
        if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")))
      })
      void this.exited.then(() => resolve(undefined))
    })
  }
}
