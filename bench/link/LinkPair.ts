/** A Hub with an Edge that is joined to it, and their floor, all on one embedded PostgreSQL. */
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { hubCoreLayer } from "@corral/hub/Hub"
import { HubConfig, hubDefaults } from "@corral/hub/config/HubConfig"
import { Projects } from "@corral/hub/project/Projects"
import { SignInStore } from "@corral/hub/signin/SignInStore"
import { Users } from "@corral/hub/signin/Users"
import { newSimulatedDevice, type SimulatedDevice } from "@corral/testing/edge/SimulatedLink"
import { Effect, Layer, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface, type Interface } from "node:readline"
import { fileURLToPath } from "node:url"
import { type BuildOptions, profilingOf, builtProgram } from "../Builds.ts"
import type { GroupOptions } from "../Groups.ts"

type Core = Layer.Success<typeof hubCoreLayer>

export interface LinkBenchOptions extends BuildOptions, GroupOptions {
  readonly rounds: number
  /** Where the Hub leaves its CPU profile when it ends. */
  readonly profile?: string | undefined
}

/** A program that serves. */
export interface ServedHub {
  readonly url: string
  readonly pid: number
}

/** Writes one line to a program that plays Edges, and returns the answer's. */
type PlayedEdges = (line: object) => Promise<Record<string, number>>

export interface LinkPair {
  readonly hub: ServedHub
  /** The bare Hub, following the bare Edge where one was given. */
  readonly floor: (edge?: { readonly url: string; readonly token: string }) => Promise<ServedHub>
  readonly token: string
  readonly projectId: ProjectId
  readonly home: string
  readonly act: <A, E>(effect: Effect.Effect<A, E, Core>) => Promise<A>
  /** Devices that are known to the Hub, of the person who is signed in. */
  readonly devices: (count: number) => Promise<ReadonlyArray<SimulatedDevice>>
  /** A program that plays Edges; `ask` writes one line to it and gives the answer's. */
  readonly edges: () => Promise<PlayedEdges>
  /** A program that makes small pushes to a Hub or, of the kind `bare`, to the floor. */
  readonly pushers: (url: string, kind: string) => Promise<PlayedEdges>
  /** Runs a program to its end, or as long as the pair lives where it says a line. */
  readonly start: (command: ReadonlyArray<string>, env: NodeJS.ProcessEnv) => Promise<ServedHub>
  readonly signedInCall: <A>(method: string, path: string, body?: object) => Promise<A>
}

const beside = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const seed = Effect.gen(function* () {
  const projects = yield* Projects
  const signIns = yield* SignInStore
  const users = yield* Users
  const { id } = yield* users.admit({ issuer: "https://issuer.example", subject: "bench", name: "bench" })
  const { token } = yield* signIns.issue(id, "desktop")
  const { id: projectId } = yield* projects.create(id, { name: "bench" })
  return { token, projectId, userId: id }
})

const makeDevices = Effect.fnUntraced(function* (owner: UserId, count: number) {
  const sql = yield* SqlClient.SqlClient
  const devices = Array.from({ length: count }, newSimulatedDevice)
  const ids = devices.map(({ deviceId }) => deviceId)
  const keys = devices.map(({ publicKey }) => publicKey)
  yield* sql`
    INSERT INTO devices (id, owner_id, name, kind, public_key, created_at)
    SELECT id, ${owner}, 'simulated', 'edge', public_key, now() FROM unnest(${ids}::text[], ${keys}::text[]) AS d (id, public_key)`
  return devices
})

const nextLine = async (lines: Interface, child: ChildProcess): Promise<string> => {
  const [line] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`${child.spawnargs.join(" ")} has ended`)))
  ])
  return String(line)
}

export const withLinkPair = async (
  options: LinkBenchOptions,
  body: (pair: LinkPair) => Promise<void>
): Promise<void> => {
  const home = mkdtempSync(join(tmpdir(), "corral-bench-"))
  const runtime = ManagedRuntime.make(
    Layer.provide(hubCoreLayer, Layer.succeed(HubConfig, { ...hubDefaults, home, maxConnections: 10 }))
  )
  const children: Array<ChildProcess> = []
  const spawned = (command: ReadonlyArray<string>, env: NodeJS.ProcessEnv): ChildProcess => {
    const child = spawn(process.execPath, command, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: process.env.PATH, HOME: home, ...env }
    })
    children.push(child)
    return child
  }
  const linesOf = ({ stdout }: ChildProcess): Interface => {
    if (stdout === null) throw new Error("stdout is a pipe")
    return createInterface({ input: stdout })
  }
  const start = async (command: ReadonlyArray<string>, env: NodeJS.ProcessEnv): Promise<ServedHub> => {
    const child = spawned(command, env)
    const { url } = JSON.parse(await nextLine(linesOf(child), child)) as { readonly url: string }
    return { url, pid: child.pid ?? 0 }
  }
  const played = (command: ReadonlyArray<string>): PlayedEdges => {
    const child = spawned(command, {})
    const lines = linesOf(child)
    return async (line) => {
      child.stdin?.write(`${JSON.stringify(line)}\n`)
      return JSON.parse(await nextLine(lines, child)) as Record<string, number>
    }
  }
  try {
    const { projectId, token, userId } = await runtime.runPromise(seed)
    const hub = await start([...profilingOf(options.profile, "edge"), builtProgram(options, "edge", "hub")], {
      CORRAL_HOME: home,
      CORRAL_HUB_REQUESTS_PER_SECOND: "1000000"
    })
    await body({
      hub,
      token,
      projectId,
      home,
      start,
      floor: (edge) =>
        start([beside("floor.mjs")], {
          BENCH_SOCKETS: join(home, "postgres"),
          ...(edge === undefined ? {} : { BENCH_EDGE: edge.url, BENCH_TOKEN: edge.token })
        }),
      act: (effect) => runtime.runPromise(effect),
      devices: (count) => runtime.runPromise(makeDevices(userId, count)),
      edges: async () => played([beside("SimulatedEdges.ts"), hub.url]),
      pushers: async (url, kind) => played([beside("SmallPushers.ts"), url, kind]),
      signedInCall: async <A>(method: string, path: string, body?: object): Promise<A> => {
        const response = await fetch(hub.url + path, {
          method,
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) })
        })
        const text = await response.text()
        if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
        return (text === "" ? undefined : JSON.parse(text)) as A
      }
    })
  } finally {
    for (const child of children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const exit = once(child, "exit")
      child.kill("SIGTERM")
      await exit
    }
    await runtime.dispose()
    rmSync(home, { recursive: true, force: true })
  }
}

/** A pair of this build, and one of an earlier build if one is named. Each has its own database. */
export interface LinkPairs {
  readonly edge: LinkPair
  readonly previous?: LinkPair
}

export const withLinkPairs = (
  options: LinkBenchOptions,
  body: (pairs: LinkPairs) => Promise<void>
): Promise<void> =>
  withLinkPair(options, (edge) =>
    options.against === undefined
      ? body({ edge })
      : withLinkPair({ ...options, entry: options.against, profile: undefined }, (previous) =>
          body({ edge, previous })
        )
  )

/** The pair of a side other than the floor. */
export const pairOf = ({ edge, previous }: LinkPairs, side: "edge" | "previous"): LinkPair => {
  const pair = side === "edge" ? edge : previous
  if (pair === undefined) throw new Error(`the ${side} is not measured`)
  return pair
}
