/**
 * Health answers. `/health` is readiness: 200 while the service does its work, 503 while it cannot. `/health/live` is liveness: 200 while
 * the process answers. Everyone may read the status; details are for authorized callers.
 */
import { Schema } from "effect"
import { DeviceId } from "../identity/Ids.ts"

/** `degraded`: a part of the service does not work. With 503 that part is one the service cannot work without. */
export const HealthStatus = Schema.Literals(["ok", "degraded"])
export type HealthStatus = typeof HealthStatus.Type

/** A fault: the part that does not work, what happened, and what to do next. For authorized callers. */
export const HealthProblem = Schema.Struct({
  part: Schema.Literals(["config", "database", "disk", "sign_in", "store"]),
  message: Schema.String,
  hint: Schema.String
}).annotate({ identifier: "HealthProblem" })
export type HealthProblem = typeof HealthProblem.Type

/** Answer of `GET /health/live`. */
export const Liveness = Schema.Struct({ status: Schema.Literal("ok") }).annotate({ identifier: "Liveness" })
export type Liveness = typeof Liveness.Type
export const alive: Liveness = { status: "ok" }

/** The answer while the service cannot do its work: the same body, with 503. */
const notReady = <S extends Schema.Top>(body: S, identifier: string) =>
  body.annotate({
    identifier,
    description: "The service cannot do its work: the same body as with 200.",
    httpApiStatus: 503
  })

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** What an adapter had no name for since the Edge started: how often, of which kind, and which versions of the program were seen. */
export const RuntimeDrift = Schema.Struct({
  unknown: count,
  /** The most frequent, 20 at most. `what` is a name of the runtime's protocol, `raw` one of them as it was printed, cut and without secrets. */
  kinds: Schema.Array(Schema.Struct({ what: Schema.String, count, raw: Schema.optionalKey(Schema.String) })),
  versionsSeen: Schema.Array(Schema.String)
}).annotate({ identifier: "RuntimeDrift" })
export type RuntimeDrift = typeof RuntimeDrift.Type

/** One runtime's or profile's readiness; `reason` and `hint` tell a person what is missing and what to do. */
export const RuntimeReadiness = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  /** The adapter that runs it: equal to `id` unless this is a profile. */
  runtime: Schema.optionalKey(Schema.String),
  installed: Schema.Boolean,
  /** Absolute path of its program. */
  path: Schema.optionalKey(Schema.String),
  version: Schema.optionalKey(Schema.String),
  /** Absent if it is not known before a run, or not yet probed. */
  signedIn: Schema.optionalKey(Schema.Boolean),
  /** Of an adapter; its profiles count there. */
  drift: Schema.optionalKey(RuntimeDrift),
  reason: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RuntimeReadiness" })
export type RuntimeReadiness = typeof RuntimeReadiness.Type

/** The git of this machine. */
export const GitFound = Schema.Struct({
  found: Schema.Boolean,
  version: Schema.optionalKey(Schema.String)
})
export type GitFound = typeof GitFound.Type

/** The file of profiles and runners. `problem` is a sentence: what it says now is not in use, what it said before is. */
export const ConfigReadiness = Schema.Struct({
  status: HealthStatus,
  path: Schema.String,
  problem: Schema.optionalKey(Schema.String)
})
export type ConfigReadiness = typeof ConfigReadiness.Type

/** How what a run leaves behind is found and ended on this machine, the strongest means first. */
export const ContainmentKind = Schema.Literals(["cgroup", "environment_mark", "process_group"])
export type ContainmentKind = typeof ContainmentKind.Type

/**
 * The link to a Hub. `none`: the Edge has not joined a Hub. `connecting`: the Edge connects, or waits before the next attempt. `refused`: the
 * Edge does not connect until an operator has fixed `problem`. `since`: the start of this state.
 */
export const LinkReadiness = Schema.Struct({
  state: Schema.Literals(["none", "connecting", "linked", "refused"]),
  hub: Schema.optionalKey(Schema.String),
  deviceId: Schema.optionalKey(DeviceId),
  since: Schema.optionalKey(Schema.String),
  problem: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "LinkReadiness" })
export type LinkReadiness = typeof LinkReadiness.Type

/** GET /health and /v1/health of an Edge: without a token only `status` and `instanceId`. */
export const EdgeReadiness = Schema.Struct({
  status: HealthStatus,
  instanceId: Schema.String,
  problems: Schema.optionalKey(Schema.Array(HealthProblem)),
  process: Schema.optionalKey(
    Schema.Struct({
      version: Schema.String,
      pid: Schema.Int,
      node: Schema.String,
      uptimeMs: count
    })
  ),
  /** `queued`: admitted, and waiting for a live one to end. */
  runs: Schema.optionalKey(Schema.Struct({ live: count, queued: count })),
  /** `message` says why it takes no writes; `freeBytes` is what its disk has left for this user. */
  store: Schema.optionalKey(
    Schema.Struct({
      status: HealthStatus,
      engine: Schema.String,
      freeBytes: Schema.optionalKey(count),
      message: Schema.optionalKey(Schema.String)
    })
  ),
  runtimes: Schema.optionalKey(Schema.Array(RuntimeReadiness)),
  workspaces: Schema.optionalKey(Schema.Struct({ count })),
  containment: Schema.optionalKey(Schema.Struct({ kind: ContainmentKind })),
  /** Bytes that are free where the Edge keeps its files. */
  disk: Schema.optionalKey(Schema.Struct({ freeBytes: count })),
  git: Schema.optionalKey(GitFound),
  config: Schema.optionalKey(ConfigReadiness),
  link: Schema.optionalKey(LinkReadiness)
}).annotate({ identifier: "EdgeReadiness" })
export type EdgeReadiness = typeof EdgeReadiness.Type
export const EdgeNotReady = notReady(EdgeReadiness, "EdgeNotReady")

/** Readiness of a Hub or a Gateway. `problems` are for authorized callers: a user of the Hub, or the holder of the metrics token. */
export const PublicHealth = Schema.Struct({
  status: HealthStatus,
  problems: Schema.optionalKey(Schema.Array(HealthProblem))
}).annotate({ identifier: "PublicHealth" })
export type PublicHealth = typeof PublicHealth.Type
export const PublicNotReady = notReady(PublicHealth, "PublicNotReady")

/** Public counts, and nothing but counts. */
export const PublicStats = Schema.Struct({
  projects: count,
  devicesOnline: count,
  runs: count,
  runsActive: count
}).annotate({
  identifier: "PublicStats"
})
export type PublicStats = typeof PublicStats.Type
