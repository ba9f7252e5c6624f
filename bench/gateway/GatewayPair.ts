/** A Gateway with a bot on Feishu, its floor and an earlier Gateway if one is named. Each has its own database on one PostgreSQL. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { APP, BOT, KEY, TENANT, TOKEN } from "@corral/testing/gateway/FakeFeishu"
import { query, startPostgres } from "@corral/testing/postgres/PostgresServer"
import { type BenchSide, type BuildOptions, profilingOf, builtProgram } from "../Builds.ts"
import type { GroupOptions } from "../Groups.ts"
import { eachSide, type Sides } from "../Pair.ts"

export interface GatewayBenchOptions extends BuildOptions, GroupOptions {
  readonly rounds: number
  /** Where the Gateway leaves its CPU profile when it ends. */
  readonly profile?: string | undefined
}

export interface GatewaySide {
  /** Where events are sent to. */
  readonly url: string
  readonly pid: number
}

export interface GatewayPair {
  readonly sides: Sides<GatewaySide>
  /** How many of the events with these ids this build's Gateway has. */
  readonly stored: (ids: ReadonlyArray<string>) => Promise<number>
}

const FLOOR = fileURLToPath(new URL("floor.mjs", import.meta.url))

const settings = {
  CORRAL_GATEWAY_REQUESTS_PER_SECOND: "1000000",
  CORRAL_FEISHU_APP_ID: APP,
  CORRAL_FEISHU_ENCRYPT_KEY: KEY,
  CORRAL_FEISHU_VERIFICATION_TOKEN: TOKEN,
  CORRAL_FEISHU_TENANTS: TENANT,
  CORRAL_FEISHU_BOT_ID: BOT
}

export const withGatewayPair = async (
  options: GatewayBenchOptions,
  body: (pair: GatewayPair) => Promise<void>
): Promise<void> => {
  const postgres = await startPostgres()
  const children: Array<ChildProcess> = []
  const start = async (command: ReadonlyArray<string>, env: NodeJS.ProcessEnv): Promise<GatewaySide> => {
    const child = spawn(process.execPath, command, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env }
    })
    children.push(child)
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      once(child, "exit").then(() => Promise.reject(new Error(`${command.join(" ")} did not start`)))
    ])
    return { url: (JSON.parse(String(line)) as { readonly url: string }).url, pid: child.pid ?? 0 }
  }
  const database = async (name: string): Promise<string> => {
    await query(postgres.url, `CREATE DATABASE ${name}`)
    return new URL(`/${name}`, postgres.url).href
  }
  const startSide = async (side: BenchSide): Promise<GatewaySide> => {
    const url = await database(`bench_${side}`)
    if (side === "floor") return start([FLOOR], { BENCH_DATABASE: url })
    const program = [...profilingOf(options.profile, side), builtProgram(options, side, "gateway")]
    const gateway = await start(program, { CORRAL_DATABASE_URL: url, ...settings })
    return { ...gateway, url: `${gateway.url}/integrations/feishu/events` }
  }
  try {
    const sides = await eachSide(options, startSide)
    await body({
      sides,
      stored: async (ids) => {
        if (ids.length === 0) return 0
        const [row] = await query(
          new URL("/bench_edge", postgres.url).href,
          `SELECT count(*)::int AS n FROM corral_gateway.inbox WHERE upstream_id IN (${ids.map((id) => `'${id}'`).join(",")})`
        )
        return Number(row?.["n"])
      }
    })
  } finally {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const exit = once(child, "exit")
      child.kill("SIGTERM")
      await exit
    }
    await postgres.stop()
  }
}
