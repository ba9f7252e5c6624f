/**
 * Everything an Edge is told from outside. A plain value: `fromEnvironment` reads it from variables, an embedding program writes it.
 */
import type { GrantRule } from "@corral/domain/approval/Grant"
import type { TelemetryConfig } from "@corral/service/telemetry/TelemetrySettings"
import type { StreamTimesOptions } from "@corral/service/stream/StreamTimes"
import type { RunTimes } from "./RunTimes.ts"
import type { RetentionLimits } from "./RetentionLimits.ts"

/** A folder that runs may work in. `grants` widen what is allowed there, for every agent; nothing is granted by default. */
export interface WorkspaceEntry {
  readonly id: string
  readonly path: string
  readonly grants?: ReadonlyArray<"full_access" | "project_settings" | GrantRule> | undefined
}

export interface EdgeConfig {
  /** Folder of the Edge's own files: `edge.db`, `edge.token`, `edge.json`, `edge.config.json`, `device.json`. */
  readonly home: string
  /** A loopback address. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly tokenFile: string
  /** JSON file of profiles and runners; it may be missing. Without this there are none but the built-in ones. */
  readonly configFile?: string | undefined
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  /** Origins of desktop shells that may reach the Edge; browsers never do. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** Names that a run's `env` may set. */
  readonly allowedEnv: ReadonlyArray<string>
  /** Milliseconds of active time where a run names none. */
  readonly runTimeoutMs: number
  readonly times: RunTimes
  /** `auto`: the strongest means that this machine has. `environment_mark`: no control groups. */
  readonly containment: "auto" | "environment_mark"
  /** Live runs at once; more wait for their turn. */
  readonly maxRuns: number
  /** Runs that wait at once; one more is `overloaded`. */
  readonly maxQueued: number
  /** Requests in a second: of the token's holder, and of all others together. */
  readonly requestsPerSecond: number
  readonly retention: RetentionLimits
  /** Ping and stall times of event streams; the contract's by default. */
  readonly streamTimes?: StreamTimesOptions | undefined
  /** Which device this Edge is at a Hub; `device.json` in `home` where it is not said. It may be missing, and may come and go. */
  readonly deviceFile?: string | undefined
  /** Where that Hub is dialled, one after the other; else where the device file says. As `hubUrlOf` gives them. */
  readonly hubAddresses?: ReadonlyArray<string> | undefined
  /** Who is told of traces and metrics; nobody where it is not said. */
  readonly telemetry?: TelemetryConfig | undefined
  /** The Edge's own environment, of which a child sees an allowlisted part. */
  readonly environment: Readonly<Record<string, string>>
}

export const defaults = {
  host: "127.0.0.1",
  port: 0,
  workspaces: [],
  allowedOrigins: [],
  allowedEnv: [],
  runTimeoutMs: 1_800_000,
  times: {
    cancel: 3_000,
    leave: 2_000,
    approval: 1_800_000,
    cap: 86_400_000,
    firstEvent: 120_000,
    silence: 1_800_000,
    silenceNotice: 30_000
  },
  containment: "auto",
  maxRuns: 1_000,
  maxQueued: 1_000,
  requestsPerSecond: 5_000,
  retention: { days: 30, maxMiB: 2_048 }
} satisfies Partial<EdgeConfig>
