/** A Gateway with a bot on Feishu, and its floor. Each has its own database on one PostgreSQL. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { APP, BOT, KEY, TENANT, TOKEN } from "@corral/testing/gateway/FakeFeishu"
import { query, startPostgres } from "@corral/testing/postgres/PostgresServer"
import type { GroupOptions } from "../Groups.ts"
import type { Both } from "../Pair.ts"

export interface GatewayBenchOptions extends GroupOptions {
  readonly rounds: number
  /** The built Edge's entry: the Gateway's lies beside its folder. */
  readonly entry: string
  /** Where the Gateway leaves its CPU profile when it ends. */
  readonly profile?: string | undefined
}

export interface GatewayPair {
  /** Where events are sent to. */
  readonly urls: Both<string>
  /** How many of the events with these ids the Gateway has. */
  readonly kept: (ids: ReadonlyArray<string>) => Promise<number>
}

const FLOOR = fileURLToPath(new URL("floor.mjs", import.meta.url))

export const withGatewayPair = async (
  { entry, profile }: GatewayBenchOptions,
  body: (pair: GatewayPair) => Promise<void>
): Promise<void> => {
  const postgres = await startPostgres()
  const children: Array<ChildProcess> = []
  const start = async (command: ReadonlyArray<string>, env: NodeJS.ProcessEnv): Promise<string> => {
    const child = spawn(process.execPath, command, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env }
    })
    children.push(child)
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      once(child, "exit").then(() => Promise.reject(new Error(`${command.join(" ")} did not start`)))
    ])
    return (JSON.parse(String(line)) as { readonly url: string }).url
  }
  const database = async (name: string): Promise<string> => {
    await query(postgres.url, `CREATE DATABASE ${name}`)
    return new URL(`/${name}`, postgres.url).href
  }
  try {
    const [ours, bare] = [await database("bench_gateway"), await database("bench_floor")]
    const profiling = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]
    const gateway = await start([...profiling, join(dirname(entry), "..", "gateway", "index.js")], {
      CORRAL_DATABASE_URL: ours,
      CORRAL_GATEWAY_REQUESTS_PER_SECOND: "1000000",
      CORRAL_FEISHU_APP_ID: APP,
      CORRAL_FEISHU_ENCRYPT_KEY: KEY,
      CORRAL_FEISHU_VERIFICATION_TOKEN: TOKEN,
      CORRAL_FEISHU_TENANTS: TENANT,
      CORRAL_FEISHU_BOT_ID: BOT
    })
    const floor = await start([FLOOR], { BENCH_DATABASE: bare })
    await body({
      urls: { edge: `${gateway}/integrations/feishu/events`, floor },
      kept: async (ids) => {
        const [row] = await query(
          ours,
          `SELECT count(*)::int AS n FROM corral_gateway.inbox WHERE upstream_id IN (${ids.map((id) => `'${id}'`).join(",")})`
        )
        return Number(row?.["n"])
      }
    })
  } finally {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const gone = once(child, "exit")
      child.kill("SIGTERM")
      await gone
    }
    await postgres.stop()
  }
}
