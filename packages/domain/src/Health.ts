/**
 * Health answers. Anyone may learn whether a service lives; what it is made of is told to those who hold its token.
 */
import { Schema } from "effect"

/** `degraded`: it serves, but something named in the answer does not work. */
export const HealthStatus = Schema.Literals(["ok", "degraded"])
export type HealthStatus = typeof HealthStatus.Type

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** One runtime's readiness; `reason` and `hint` tell a person what is missing and what to do. */
export const RuntimeReadiness = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  installed: Schema.Boolean,
  version: Schema.optionalKey(Schema.String),
  signedIn: Schema.optionalKey(Schema.Boolean),
  reason: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RuntimeReadiness" })
export type RuntimeReadiness = typeof RuntimeReadiness.Type

/** How what a run leaves behind is found and ended on this machine, the strongest means first. */
export const ContainmentKind = Schema.Literals(["cgroup", "environment_mark", "process_group"])
export type ContainmentKind = typeof ContainmentKind.Type

/** GET /health and /v1/health of an Edge: without a token only `status` and `instanceId`. */
export const EdgeReadiness = Schema.Struct({
  status: HealthStatus,
  instanceId: Schema.String,
  process: Schema.optionalKey(
    Schema.Struct({
      version: Schema.String,
      pid: Schema.Int,
      node: Schema.String,
      uptimeMs: count,
      runs: count
    })
  ),
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
  containment: Schema.optionalKey(Schema.Struct({ kind: ContainmentKind }))
}).annotate({ identifier: "EdgeReadiness" })
export type EdgeReadiness = typeof EdgeReadiness.Type

/** Public health of a Hub or a Gateway. */
export const PublicHealth = Schema.Struct({ status: HealthStatus }).annotate({ identifier: "PublicHealth" })
export type PublicHealth = typeof PublicHealth.Type

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
