/**
 * Health responses. `/health` is readiness: 200 if the service can do its work, 503 if it cannot. `/health/live` is liveness: 200 while the process
 * responds. Every caller may read the status. Details require authorization.
 *
 * Also the status of each layer of the contract, the same in its documents, in the documentation and in the public health. Clients of a layer in
 * development ignore fields and values that they do not have.
 */
import { DeviceId } from "../identity/Ids.ts"
import { ConfinementKind } from "../run/Confinement.ts"
import { Schema } from "effect"
import { LayerMeans } from "../run/Run.ts"

/** `in development`: paths and fields can change. `contract shaped`: the shape of the events is settled, their vocabulary can grow. */
export const LayerStatus = Schema.Literals(["in development", "contract shaped"])
export type LayerStatus = typeof LayerStatus.Type

/** By layer. */
export const layerStatus = {
  hubApi: "in development",
  edgeApi: "in development",
  eventStreams: "in development",
  runtimeEvents: "contract shaped",
  chatEvents: "in development"
} as const satisfies Readonly<Record<string, LayerStatus>>
export type Layer = keyof typeof layerStatus

/** Names of the layers, for people. */
export const layerNames: { readonly [L in Layer]: string } = {
  hubApi: "Hub API",
  edgeApi: "Edge API",
  eventStreams: "WebSocket events",
  runtimeEvents: "Runtime adapter events",
  chatEvents: "Chat-platform integration events"
}

/** Status of a service. `degraded`: a part does not work. With 503, the service cannot work without that part. */
export const HealthStatus = Schema.Literals(["ok", "degraded"])
export type HealthStatus = typeof HealthStatus.Type

/** A problem of a service: the failing part, what happened (`message`), and what to do next (`hint`). For authorized callers. */
export const HealthProblem = Schema.Struct({
  part: Schema.Literals([
    "adapters",
    "clock",
    "config",
    "database",
    "disk",
    "runtime_state",
    "sign_in",
    "store"
  ]),
  message: Schema.String,
  hint: Schema.String
}).annotate({ identifier: "HealthProblem" })
export type HealthProblem = typeof HealthProblem.Type

/** Response of `GET /health/live`. */
export const Liveness = Schema.Struct({ status: Schema.Literal("ok") }).annotate({ identifier: "Liveness" })
export type Liveness = typeof Liveness.Type
export const livenessOk: Liveness = { status: "ok" }

/** Response with 503: the same body as with 200. */
const notReady = <S extends Schema.Top>(body: S, identifier: string) =>
  body.annotate({
    identifier,
    description: "The service cannot do its work. The body is the same as with 200.",
    httpApiStatus: 503
  })

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Runtime output that an adapter did not recognize since the Edge started: counts by kind, and the versions of the program. */
export const RuntimeDrift = Schema.Struct({
  unknown: count,
  /** The 20 most frequent kinds. `what` is a name in the runtime's protocol, `raw` one example of the output, truncated and redacted. */
  kinds: Schema.Array(Schema.Struct({ what: Schema.String, count, raw: Schema.optionalKey(Schema.String) })),
  versionsSeen: Schema.Array(Schema.String)
}).annotate({ identifier: "RuntimeDrift" })
export type RuntimeDrift = typeof RuntimeDrift.Type

/** Readiness of one runtime or profile. `reason` says what is missing, `hint` what to do. */
export const RuntimeReadiness = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  /** Id of its adapter: equal to `id` unless this is a profile. */
  runtime: Schema.optionalKey(Schema.String),
  installed: Schema.Boolean,
  /** Absolute path of the program. */
  path: Schema.optionalKey(Schema.String),
  version: Schema.optionalKey(Schema.String),
  /** Absent if the runtime does not report it before a run, or was not probed yet. */
  signedIn: Schema.optionalKey(Schema.Boolean),
  /** Only for adapters. Includes the output of their profiles. */
  drift: Schema.optionalKey(RuntimeDrift),
  reason: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RuntimeReadiness" })
export type RuntimeReadiness = typeof RuntimeReadiness.Type

/** Whether git is installed on this machine, and its version. */
export const GitFound = Schema.Struct({
  found: Schema.Boolean,
  version: Schema.optionalKey(Schema.String)
})
export type GitFound = typeof GitFound.Type

/** Status of the file with profiles and runners. With a `problem` the Edge uses the last valid version of the file. */
export const ConfigReadiness = Schema.Struct({
  status: HealthStatus,
  path: Schema.String,
  problem: Schema.optionalKey(Schema.String)
})
export type ConfigReadiness = typeof ConfigReadiness.Type

/** How the Edge finds and ends remaining processes of a run on this machine, strongest first. */
export const ContainmentKind = Schema.Literals(["cgroup", "environment_mark", "process_group"])
export type ContainmentKind = typeof ContainmentKind.Type

/**
 * What the operating system enforces for runs on this machine. `network`: `closed` if a run reaches only the hosts that are
 * declared or allowed. `problem`: why runs are not confined although the setting demands or prefers it, or only in part; `hint`: what to do.
 */
export const ConfinementReadiness = Schema.Struct({
  kind: ConfinementKind,
  setting: Schema.Literals(["off", "preferred", "required"]),
  network: Schema.Literals(["open", "closed"]),
  problem: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ConfinementReadiness" })
export type ConfinementReadiness = typeof ConfinementReadiness.Type

/**
 * How this machine makes layers for runs with `isolation: "overlay"`. `enforced`: whether the operating system hides the workspace's folder from
 * such runs. `problem`: why it does not, or why a better means does not work; `hint`: what to do.
 */
export const LayerReadiness = Schema.Struct({
  means: LayerMeans,
  enforced: Schema.Boolean,
  problem: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "LayerReadiness" })
export type LayerReadiness = typeof LayerReadiness.Type

/**
 * State of the link to a Hub. `none`: the Edge has not joined a Hub. `connecting`: the Edge connects, or waits before the next attempt.
 * `refused`: the Edge does not connect until an operator has fixed `problem`. `since`: start of this state, ISO 8601.
 */
export const LinkReadiness = Schema.Struct({
  state: Schema.Literals(["none", "connecting", "linked", "refused"]),
  hub: Schema.optionalKey(Schema.String),
  deviceId: Schema.optionalKey(DeviceId),
  since: Schema.optionalKey(Schema.String),
  problem: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "LinkReadiness" })
export type LinkReadiness = typeof LinkReadiness.Type

/** Response of GET /health and /v1/health of an Edge. Without a token it has only `status` and `instanceId`. */
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
  /** Numbers of runs. `queued` runs wait until a live run ends. */
  runs: Schema.optionalKey(Schema.Struct({ live: count, queued: count })),
  /** `message` says why writes fail. `freeBytes`: free space on its disk for this user. */
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
  confinement: Schema.optionalKey(ConfinementReadiness),
  layers: Schema.optionalKey(LayerReadiness),
  /** Free bytes on the disk with the Edge's files. */
  disk: Schema.optionalKey(Schema.Struct({ freeBytes: count })),
  git: Schema.optionalKey(GitFound),
  config: Schema.optionalKey(ConfigReadiness),
  link: Schema.optionalKey(LinkReadiness)
}).annotate({ identifier: "EdgeReadiness" })
export type EdgeReadiness = typeof EdgeReadiness.Type
export const EdgeNotReady = notReady(EdgeReadiness, "EdgeNotReady")

/** Readiness of a Hub or a Gateway. `problems` require a sign-in at the Hub or the metrics token. */
export const PublicHealth = Schema.Struct({
  status: HealthStatus,
  problems: Schema.optionalKey(Schema.Array(HealthProblem))
}).annotate({ identifier: "PublicHealth" })
export type PublicHealth = typeof PublicHealth.Type
export const PublicNotReady = notReady(PublicHealth, "PublicNotReady")

/** Readiness of a Hub with the status of each layer of the contract. */
export const PublicStatus = Schema.Struct({
  ...PublicHealth.fields,
  layers: Schema.Record(Schema.String, LayerStatus)
}).annotate({ identifier: "PublicStatus" })
export type PublicStatus = typeof PublicStatus.Type
export const PublicStatusNotReady = notReady(PublicStatus, "PublicStatusNotReady")

/** Public counts of a Hub. */
export const PublicStats = Schema.Struct({
  projects: count,
  devicesOnline: count,
  runs: count,
  runsActive: count
}).annotate({
  identifier: "PublicStats"
})
export type PublicStats = typeof PublicStats.Type
