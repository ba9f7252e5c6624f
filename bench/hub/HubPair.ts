/**
 * A Hub, its floor and an earlier Hub if one is named, on one embedded PostgreSQL, with a project of 100,000 sessions and a member who is signed in.
 */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { hubCoreLayer } from "@corral/hub/Hub"
import { HubConfig, hubDefaults } from "@corral/hub/config/HubConfig"
import { Projects } from "@corral/hub/project/Projects"
import { SignInStore } from "@corral/hub/signin/SignInStore"
import { Users } from "@corral/hub/signin/Users"
import { Effect, Layer, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { type BuildOptions, profilingOf, builtProgram } from "../Builds.ts"
import { eachSide, type Sides } from "../Pair.ts"

export type Core = Layer.Success<typeof hubCoreLayer>

export interface HubSide {
  readonly url: string
  readonly pid: number
}

export interface HubPair {
  readonly sides: Sides<HubSide>
  readonly token: string
  readonly projectId: ProjectId
  /** Folder of the database's socket. */
  readonly sockets: string
  /** Runs something on the Hub's own services, in this process. */
  readonly act: <A, E>(effect: Effect.Effect<A, E, Core>) => Promise<A>
}

export interface HubPairOptions extends BuildOptions {
  /** Where the Hub leaves its CPU profile when it ends. */
  readonly profile?: string | undefined
}

export const ROWS = 100_000

const FLOOR = fileURLToPath(new URL("floor.mjs", import.meta.url))

const start = async (
  command: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv
): Promise<HubSide & { readonly child: ChildProcess }> => {
  const child = spawn(process.execPath, command, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env }
  })
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`${command.join(" ")} did not start`)))
  ])
  return { url: (JSON.parse(String(line)) as HubSide).url, pid: child.pid ?? 0, child }
}

const seed = Effect.gen(function* () {
  const projects = yield* Projects
  const signIns = yield* SignInStore
  const sql = yield* SqlClient.SqlClient
  const users = yield* Users
  const { id } = yield* users.admit({ issuer: "https://issuer.example", subject: "bench", name: "bench" })
  const { token } = yield* signIns.issue(id, "desktop")
  const { id: projectId } = yield* projects.create(id, { name: "bench" })
  yield* sql`
    INSERT INTO sessions (id, project_id, title, state, created_by, created_at, updated_at)
    SELECT 'ses_' || lpad(n::text, 26, '0'), ${projectId}, 'Session number ' || n, 'active', ${id},
      '2026-01-01'::timestamptz + n * interval '1 second', '2026-01-01'::timestamptz + n * interval '1 second'
    FROM generate_series(1, ${ROWS}) n`
  yield* sql`ANALYZE`
  return { token, projectId }
})

export const withHubPair = async (
  options: HubPairOptions,
  body: (pair: HubPair) => Promise<void>
): Promise<void> => {
  const home = mkdtempSync(join(tmpdir(), "corral-bench-"))
  const runtime = ManagedRuntime.make(
    Layer.provide(hubCoreLayer, Layer.succeed(HubConfig, { ...hubDefaults, home, maxConnections: 20 }))
  )
  const children: Array<ChildProcess> = []
  try {
    const { projectId, token } = await runtime.runPromise(seed)
    const sockets = join(home, "postgres")
    const settings = { CORRAL_HOME: home, CORRAL_HUB_REQUESTS_PER_SECOND: "1000000" }
    const sides = await eachSide(options, async (side) => {
      const hub = [...profilingOf(options.profile, side), builtProgram(options, side, "hub")]
      const started = await (side === "floor"
        ? start([FLOOR], { BENCH_SOCKETS: sockets })
        : start(hub, settings))
      children.push(started.child)
      return started
    })
    await body({ sides, token, projectId, sockets, act: (effect) => runtime.runPromise(effect) })
  } finally {
    for (const child of children) {
      const exit = once(child, "exit")
      child.kill("SIGTERM")
      await exit
    }
    await runtime.dispose()
    rmSync(home, { recursive: true, force: true })
  }
}
