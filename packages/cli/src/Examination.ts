/** What `corral doctor` finds out: about this program, the Edge, its files and the agents of this machine. */
import { builtIn } from "@corral/adapters/Registry"
import type { Agent } from "@corral/domain/Agent"
import { VERSION } from "@corral/edge/EdgeInstance"
import { fromEnvironment } from "@corral/edge/EdgeSettings"
import { Runtimes } from "@corral/edge/runtime/Runtimes"
import { scriptedProgram } from "@corral/edge/scriptedProgram"
import { Effect } from "effect"
import { statSync } from "node:fs"
import { join } from "node:path"
import { asked, connectTo } from "./EdgeClient.ts"
import { corralHome, locate } from "./EdgeLocation.ts"
import type { EdgeChoice } from "./Flags.ts"
import { Host } from "./Host.ts"

export type EdgeFound =
  | {
      readonly running: true
      readonly url: string
      readonly status: "ok" | "degraded"
      readonly version: string
      readonly runs: number
      readonly workspaces: number
      readonly store: string
      readonly containment: string
    }
  | { readonly running: false; readonly reason: string }

/** One of the Edge's own files. `mode` as in `chmod`; not ok where others can read it. */
export interface FileFound {
  readonly name: string
  readonly mode: string
  readonly ok: boolean
  readonly hint?: string
}

type AgentFound = Pick<Agent, "id" | "label" | "available" | "version" | "reason" | "hint">

export interface Examination {
  readonly corral: string
  readonly node: { readonly version: string; readonly ok: boolean }
  readonly home: { readonly path: string; readonly files: ReadonlyArray<FileFound> }
  readonly edge: EdgeFound
  readonly agents: ReadonlyArray<AgentFound>
}

const agentFound = ({ id, label, available, version, reason, hint }: Agent): AgentFound => ({
  id,
  label,
  available,
  ...(version === undefined ? {} : { version }),
  ...(reason === undefined ? {} : { reason }),
  ...(hint === undefined ? {} : { hint })
})

const OWN_FILES = ["", "edge.json", "edge.token", "edge.db"]

const filesOf = (home: string): ReadonlyArray<FileFound> =>
  OWN_FILES.flatMap((name) => {
    const path = join(home, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return []
    const mode = (stat.mode & 0o777).toString(8).padStart(3, "0")
    const ok = (stat.mode & 0o077) === 0
    const hint = `Others can read it: chmod ${stat.isDirectory() ? "700" : "600"} ${path}`
    return [{ name: name === "" ? "." : name, mode, ok, ...(ok ? {} : { hint }) }]
  })

const isNewEnough = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major > 22 || (major === 22 && minor >= 19)
}

/** The Edge and its agents, as it tells them itself. */
const askEdge = Effect.fnUntraced(function* (choice: EdgeChoice) {
  const endpoint = yield* locate(choice)
  const calls = yield* connectTo(endpoint)
  const { status, process: own, store, workspaces, containment } = yield* asked(calls.health.v1Health())
  const { items } = yield* asked(calls.agents.list())
  const edge: EdgeFound = {
    running: true,
    url: endpoint.url,
    status,
    version: own?.version ?? "of an unknown version",
    runs: own?.runs ?? 0,
    workspaces: workspaces?.count ?? 0,
    store: store === undefined ? "unknown" : `${store.status} (${store.engine})`,
    containment: containment?.kind ?? "unknown"
  }
  return { edge, agents: items }
})

/** Without an Edge: the agents that one would find, started from here. */
const lookAround = Effect.fnUntraced(function* (reason: string) {
  const { environment } = yield* Host
  const config = yield* fromEnvironment(environment)
  const adapters = builtIn({ node: process.execPath, scriptedProgram })
  const agents = yield* Effect.flatMap(Runtimes, (runtimes) => runtimes.list).pipe(
    Effect.provide(Runtimes.layer(config, adapters))
  )
  return { edge: { running: false, reason } satisfies EdgeFound, agents }
})

/** Fails nowhere: what cannot be found out is told as such. */
export const examine = Effect.fn("Examination.examine")(function* (choice: EdgeChoice) {
  const path = yield* corralHome
  const { edge, agents } = yield* askEdge(choice).pipe(
    Effect.catch(({ message }) => lookAround(message)),
    Effect.catch(({ message }) =>
      Effect.succeed({ edge: { running: false, reason: message } satisfies EdgeFound, agents: [] })
    )
  )
  return {
    corral: VERSION,
    node: { version: process.versions.node, ok: isNewEnough(process.versions.node) },
    home: { path, files: filesOf(path) },
    edge,
    agents: agents.map(agentFound)
  } satisfies Examination
})
