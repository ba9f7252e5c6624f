/**
 * Configuration of an Edge: a plain value, and the service by which layers receive it. `readEdgeConfig` reads it from variables; an embedding
 * program writes it.
 *
 * Its parts are the time limits of a run, the limits on stored events, the address of a Hub (every connection to another machine needs TLS), and
 * the keys: names of environment variables that settings may name, and the adapters whose runs have placeholders instead of the keys of model
 * services (ADR 66).
 */
import type { WorkspaceEntry } from "./WorkspaceEntries.ts"
import { LINK_PATH } from "@corral/domain/link/EdgeLink"
import { capped } from "@corral/domain/text/CappedPattern"
import { firstCharacters, withoutTrailing } from "@corral/domain/text/Cut"
import { isLoopback } from "@corral/service/Addresses"
import type { StreamTimesOptions } from "@corral/service/stream/StreamTimes"
import type { TelemetryConfig } from "@corral/service/telemetry/TelemetrySettings"
import { Context, Schema } from "effect"
import { join } from "node:path"

/** A variable that may be set or passed for a run: none of Corral's own, and none by which a loader loads something else. */
export const EnvName = Schema.String.check(
  Schema.isPattern(capped(256, /^(?!CORRAL_|PATH$|LD_|DYLD_|NODE_OPTIONS$)[A-Za-z_][A-Za-z0-9_]*$/), {
    expected: "the name of a variable, none of Corral's own or the loader's"
  })
)

/** An address of a service, without a path: `https://models.example.com:8443`. */
const ServiceAddress = Schema.String.check(
  Schema.makeFilter(
    (text) => {
      if (!URL.canParse(text)) return false
      const { hash, password, protocol, search, username } = new URL(text)
      return (
        ["http:", "https:"].includes(protocol) &&
        [hash, password, search, username].every((part) => part === "")
      )
    },
    { expected: "an address with http or https, without a sign-in or a query" }
  )
)

/**
 * `addresses`: services of a variable's key. They replace those that the adapter declares. `setting`: `required` refuses a run that would have
 * the key, `preferred` starts it with the key.
 */
export const KeyEntry = Schema.Struct({
  adapter: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(128)),
  setting: Schema.optional(Schema.Literals(["required", "preferred"])),
  addresses: Schema.optional(Schema.Record(EnvName, Schema.NonEmptyArray(ServiceAddress)))
})
export type KeyEntry = typeof KeyEntry.Type

/** Adapters whose runs have placeholders instead of the keys of model services. */
export const KeyEntries = Schema.Array(KeyEntry).check(
  Schema.makeFilter((entries) => new Set(entries.map(({ adapter }) => adapter)).size === entries.length)
)

export interface RetentionLimits {
  /** Days after which the events of an ended run are deleted; 0 keeps them forever. */
  readonly days: number
  /** How large the store may be, in MiB, before the oldest ended runs lose their events earlier; 0: any size. */
  readonly maxMiB: number
}

/** Milliseconds. `cancel` is the whole grace from a cancel to SIGKILL, however it is spent. */
export interface RunTimes {
  readonly cancel: number
  /** How long a runtime may take to leave after its turn is over. */
  readonly leave: number
  readonly approval: number
  /** How long an outcome waits for a further turn that is due. */
  readonly settle: number
  /** How long work may continue in the background after a turn. */
  readonly background: number
  /** How long one check may take. */
  readonly check: number
  readonly cap: number
  /** How long a runtime may say nothing at all, and nothing more. */
  readonly firstEvent: number
  readonly silence: number
  /** After how much silence the run reports it. */
  readonly silenceNotice: number
  /** How long a run waits before it reports what it has used, so that several model calls share a report. */
  readonly usageReport: number
}

export interface EdgeConfig {
  /** Folder of the Edge's own files: `edge.db`, `edge.token`, `edge.json`, `edge.config.json`, `device.json`. */
  readonly home: string
  /** A loopback address. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly tokenFile: string
  /** JSON file of profiles and runners. Optional; without it the Edge offers only its adapters and presets. */
  readonly configFile?: string | undefined
  /** JSON file of prices of models, which overrides the table that comes with Corral. It may be missing. */
  readonly pricesFile?: string | undefined
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  /** Origins of desktop shells that may call the Edge. Browsers are always refused. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** Names that a run's `env` may set. */
  readonly allowedEnv: ReadonlyArray<string>
  /** Milliseconds of active time for runs without their own timeout. */
  readonly runTimeoutMs: number
  readonly times: RunTimes
  /**
   * Milliseconds that live runs continue without an Edge, until the next one of this home adopts them; 0: runs end with their Edge. The setting
   * of a service is half an hour by default, the one of an embedding program 0.
   */
  readonly orphanMs: number
  /** `auto`: the strongest method that works on this machine. `environment_mark`: no control groups. */
  readonly containment: "auto" | "environment_mark"
  /**
   * Whether the operating system enforces the modes of runs. `preferred`: where this machine has the means. `required`: runs that cannot be
   * confined are refused. The setting of a service is `preferred` by default, the one of an embedding program `off`.
   */
  readonly confinement: "off" | "preferred" | "required"
  /** Hosts that confined runs reach without a decision: `example.com`, `*.example.com`, `127.0.0.1:11434`. */
  readonly runHosts: ReadonlyArray<string>
  /** Adapters whose confined runs have placeholders instead of keys. */
  readonly proxyKeys: ReadonlyArray<KeyEntry>
  /** Maximum number of live runs. Further runs are queued. */
  readonly maxRuns: number
  /** Maximum number of queued runs. Further runs are refused with `overloaded`. */
  readonly maxQueued: number
  /** Requests per second: with the token, and of all other callers together. */
  readonly requestsPerSecond: number
  readonly retention: RetentionLimits
  /** How large the caches of confined runs may be together, in MiB, before the oldest are removed; 0: any size. */
  readonly cacheMaxMiB: number
  /** Whether the raw output of runs is kept on this machine, for authors of adapters. */
  readonly rawOutput: "off" | "keep"
  /** Ping and stall times of event streams; the contract's by default. */
  readonly streamTimes?: StreamTimesOptions | undefined
  /** File of the device that this Edge is at a Hub; `device.json` in `home` by default. It may be created or removed at any time. */
  readonly deviceFile?: string | undefined
  /** Addresses of that Hub, tried in order; by default the address in the device file. As `hubUrlOf` returns them. */
  readonly hubAddresses?: ReadonlyArray<string> | undefined
  /** Folder of an editor's user data, in which the Edge publishes its agent host. It publishes none without one. */
  readonly editorFolder?: string | undefined
  /** Receiver of traces and metrics. They are not sent without one. */
  readonly telemetry?: TelemetryConfig | undefined
  /** The Edge's own environment. Child processes receive an allowlisted part of it. */
  readonly environment: Readonly<Record<string, string>>
}

/** Configuration of the Edge that a layer is part of. */
export const EdgeConfig = Context.Service<EdgeConfig>("corral/edge/EdgeConfig")

export const edgeDefaults = {
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
    settle: 10_000,
    background: 1_800_000,
    check: 600_000,
    cap: 86_400_000,
    firstEvent: 120_000,
    silence: 1_800_000,
    silenceNotice: 30_000,
    usageReport: 5_000
  },
  orphanMs: 0,
  containment: "auto",
  confinement: "off",
  runHosts: [],
  proxyKeys: [],
  maxRuns: 1_000,
  maxQueued: 1_000,
  requestsPerSecond: 5_000,
  retention: { days: 30, maxMiB: 2_048 },
  cacheMaxMiB: 10_240,
  rawOutput: "off"
} satisfies Partial<EdgeConfig>

/** A configuration with the defaults for what is not given. Child processes receive nothing of the environment by default. */
export const makeEdgeConfig = (options: Partial<EdgeConfig> & Pick<EdgeConfig, "home">): EdgeConfig => ({
  ...edgeDefaults,
  tokenFile: join(options.home, "edge.token"),
  environment: {},
  ...options
})

/** The address as a URL without a slash at its end, `http` or `https`; a sentence where it cannot be used. */
export const hubUrlOf = (text: string): { readonly url: string } | { readonly problem: string } => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const protocol = url?.protocol.replace(/^ws/, "http")
  if (url === undefined || (protocol !== "http:" && protocol !== "https:") || url.host === "")
    return {
      problem: `"${firstCharacters(text, 200)}" is no address of a Hub such as https://corral.example`
    }
  // The message never repeats this part, because it may be a password.
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    return { problem: `the address of the Hub at ${url.host} may hold no sign-in and no query` }
  if (protocol === "http:" && !isLoopback(url.hostname))
    return { problem: `a Hub on another machine needs https, and ${url.host} was given without` }
  return { url: `${protocol}//${url.host}${withoutTrailing(url.pathname, "/")}` }
}

/**
 * Where that Hub takes links. `hub` is what `hubUrlOf` gave.
 *
 * @internal
 */
export const linkAddressOf = (hub: string): string => hub.replace(/^http/, "ws") + LINK_PATH
