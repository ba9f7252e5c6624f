/** Settings of the Edge: one table that documents and reads its environment variables. */
import { readSettings } from "@corral/service/settings/ReadSettings"
import {
  type Environment,
  homeSetting,
  invalidSetting,
  optionalSetting,
  setting,
  FilePath,
  json,
  list,
  oneOf,
  parsedBy,
  Port,
  textMatching,
  wholeNumber
} from "@corral/service/settings/Setting"
import { defaultStreamTimes } from "@corral/service/stream/StreamTimes"
import { telemetryConfig, telemetrySettings } from "@corral/service/telemetry/TelemetrySettings"
import { Config, Effect, Schema } from "effect"
import { join } from "node:path"
import { unusableGrant } from "./approval/GrantRules.ts"
import { type EdgeConfig, edgeDefaults, EnvName, hubUrlOf, KeyEntries } from "./config/EdgeConfig.ts"
import { edgeHosts } from "./EdgeConfigCheck.ts"
import { hostEntryOf } from "./network/HostEntry.ts"
import { WorkspaceEntries, type WorkspaceEntry } from "./config/WorkspaceEntries.ts"

// As browsers send them, for an exact comparison. Pages of `http` come from this machine: others could be changed on their way here.
const desktopOrigin = /^([a-z][a-z0-9+.-]*):\/\/[a-z0-9._-]+(?::\d{1,5})?$/
const loopbackOrigin = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/
const webSchemes = new Set(["http", "https", "ws", "wss", "file", "data", "blob", "javascript", "about"])

const isPageOrigin = (text: string): boolean =>
  loopbackOrigin.test(text) ? !text.endsWith(":80") : !webSchemes.has(desktopOrigin.exec(text)?.[1] ?? "http")

const Origins = Schema.Array(textMatching("an origin", isPageOrigin))

const HubAddresses = parsedBy(
  "an address such as https://corral.example, or several with commas between them; http on this machine alone, and no sign-in or query in it",
  (text) => {
    const addresses = text.split(",").map((each) => hubUrlOf(each.trim()))
    const urls = addresses.flatMap((address) => ("url" in address ? [address.url] : []))
    return urls.length === addresses.length ? urls : undefined
  }
)

const RunHost = textMatching("a host", (text) => hostEntryOf(text) !== undefined)

const upToADay = wholeNumber(1_000, 86_400_000)

const { containment, maxQueued, maxRuns, requestsPerSecond, retention, runTimeoutMs, times } = edgeDefaults

export const edgeSettings = {
  home: homeSetting,
  host: setting({
    name: "CORRAL_EDGE_HOST",
    doc: "Loopback address to listen on: `127.0.0.1`, `::1` or `localhost`.",
    schema: oneOf(edgeHosts, `a loopback address (${edgeHosts.join(", ")})`),
    default: edgeDefaults.host
  }),
  port: setting({
    name: "CORRAL_EDGE_PORT",
    doc: "Port to listen on; 0 selects a free port.",
    schema: Port,
    default: edgeDefaults.port
  }),
  tokenFile: optionalSetting({
    name: "CORRAL_EDGE_TOKEN_FILE",
    doc: "File of the local token, mode 0600. Created if missing.",
    schema: FilePath,
    shownDefault: "$CORRAL_HOME/edge.token"
  }),
  hubAddresses: optionalSetting({
    name: "CORRAL_EDGE_HUB_URL",
    doc: "Address of the Hub that this Edge has joined, or several addresses of the same Hub, separated by commas and tried in turn. `https`, or `http` on this machine.",
    schema: HubAddresses,
    shownDefault: "the Hub that was joined"
  }),
  configFile: optionalSetting({
    name: "CORRAL_EDGE_CONFIG_FILE",
    doc: "JSON file of profiles and runners, read again when it changes. The file may be missing.",
    schema: FilePath,
    shownDefault: "$CORRAL_HOME/edge.config.json"
  }),
  pricesFile: optionalSetting({
    name: "CORRAL_EDGE_PRICES_FILE",
    doc: "JSON file of [prices of models](edge.md#cost), which overrides the table that comes with Corral. Read again when it changes. The file may be missing.",
    schema: FilePath,
    shownDefault: "the prices that come with Corral"
  }),
  editorFolder: optionalSetting({
    name: "CORRAL_EDGE_EDITOR_FOLDER",
    doc: "Folder of the user data of Visual Studio Code, such as `~/.config/Code` with its whole path. The Edge publishes its [agent host](editors.md#visual-studio-code) in it, with a token that opens nothing else.",
    schema: FilePath,
    shownDefault: "none: the agent host is not published"
  }),
  workspaces: setting({
    name: "CORRAL_EDGE_WORKSPACES",
    doc: 'Allowlisted folders, JSON: `[{"id": "api", "path": "/absolute/path", "grants": ["full_access"]}]`. `grants` is optional: `full_access`, `project_settings`, `confined`, and rules that [security](security.md#grants) describes. `isolation` is optional: `none`, `worktree`, `overlay` or `copy-unconfined` for runs that name none ([layers](edge.md#layers)).',
    schema: json(
      WorkspaceEntries,
      'a JSON array of {id, path, grants?} with absolute paths and different ids, each grant "full_access", "project_settings", "confined" or a rule, and isolation? "none", "worktree", "overlay" or "copy-unconfined"'
    ),
    default: edgeDefaults.workspaces
  }),
  allowedOrigins: setting({
    name: "CORRAL_EDGE_ALLOWED_ORIGINS",
    doc: "Origins of pages that may use the Edge with its token, JSON array: desktop schemes such as `app://corral`, and `http` origins of this machine. No others.",
    schema: json(
      Origins,
      "a JSON array of origins such as app://corral or http://127.0.0.1:5173, each as the browser sends it: in lower case, without a path, no pattern"
    ),
    default: edgeDefaults.allowedOrigins
  }),
  allowedEnv: setting({
    name: "CORRAL_EDGE_ALLOWED_ENV",
    doc: "Names of environment variables that a run can set, JSON array.",
    schema: json(
      Schema.Array(EnvName),
      "a JSON array of variable names, none of them Corral's own or the loader's"
    ),
    default: edgeDefaults.allowedEnv
  }),
  runTimeoutMs: setting({
    name: "CORRAL_EDGE_RUN_TIMEOUT_MS",
    doc: "Default limit of a run's active time, in milliseconds.",
    schema: upToADay,
    default: runTimeoutMs
  }),
  times: {
    cap: setting({
      name: "CORRAL_EDGE_RUN_CAP_MS",
      doc: "Maximum duration of a run, including the time that it waits for people, in milliseconds.",
      schema: upToADay,
      default: times.cap
    }),
    cancel: setting({
      name: "CORRAL_EDGE_CANCEL_GRACE_MS",
      doc: "Time from a cancel to SIGKILL, in milliseconds.",
      schema: wholeNumber(50, 60_000),
      default: times.cancel
    }),
    approval: setting({
      name: "CORRAL_EDGE_APPROVAL_TTL_MS",
      doc: "Time after which a pending approval expires as denied, in milliseconds.",
      schema: upToADay,
      default: times.approval
    }),
    settle: setting({
      name: "CORRAL_EDGE_SETTLE_MS",
      doc: "Time that a run waits for a further turn of its runtime after background work ended, before the result of the last turn counts, in milliseconds.",
      schema: wholeNumber(100, 600_000),
      default: times.settle
    }),
    background: setting({
      name: "CORRAL_EDGE_BACKGROUND_MS",
      doc: "Default limit of background work after a turn, in milliseconds. The time that a question or an approval is open does not count.",
      schema: upToADay,
      default: times.background
    }),
    check: setting({
      name: "CORRAL_EDGE_CHECK_MS",
      doc: "Maximum time of one check after a turn, in milliseconds.",
      schema: upToADay,
      default: times.check
    }),
    firstEvent: setting({
      name: "CORRAL_EDGE_FIRST_EVENT_MS",
      doc: "Maximum silence of a runtime after its start, in milliseconds.",
      schema: upToADay,
      default: times.firstEvent
    }),
    silence: setting({
      name: "CORRAL_EDGE_SILENCE_MS",
      doc: "Maximum silence of a runtime while no approval is pending, in milliseconds.",
      schema: upToADay,
      default: times.silence
    }),
    silenceNotice: setting({
      name: "CORRAL_EDGE_SILENCE_NOTICE_MS",
      doc: "Silence after which a run reports `runtime.retrying`, in milliseconds; again after twice that time, and so on. Not while an approval is pending or a tool runs.",
      schema: wholeNumber(100, 86_400_000),
      default: times.silenceNotice
    })
  },
  orphanMs: setting({
    name: "CORRAL_EDGE_ORPHAN_MS",
    doc: "Time that live runs continue without an Edge, in milliseconds. The next Edge of the same home continues them; without one, they end after this time. 0: runs end with their Edge.",
    schema: wholeNumber(0, 86_400_000),
    // A program that embeds an Edge decides itself.
    default: 1_800_000
  }),
  containment: setting({
    name: "CORRAL_EDGE_CONTAINMENT",
    doc: "How Corral finds all processes of a run: `auto` uses a control group for each run where the system allows it, `environment_mark` never does.",
    schema: oneOf(["auto", "environment_mark"]),
    default: containment
  }),
  confinement: setting({
    name: "CORRAL_EDGE_CONFINEMENT",
    doc: "Whether the operating system enforces the modes of runs: `preferred` where this machine has the means, `required`, which refuses other runs, or `off`. [Confinement](confinement.md) describes what it allows.",
    schema: oneOf(["off", "preferred", "required"]),
    // A program that embeds an Edge decides itself (ADR 67).
    default: "preferred"
  }),
  runHosts: setting({
    name: "CORRAL_EDGE_RUN_HOSTS",
    doc: "Hosts that [confined](confinement.md#network) runs reach in every mode without a decision, separated by commas: `registry.npmjs.org`, `*.example.com`, `api.example.com:8443`, `127.0.0.1:11434`. Hosts on this machine and in its networks are reached only if they are listed.",
    schema: list(RunHost, "hosts such as registry.npmjs.org or 127.0.0.1:11434, with commas between them"),
    default: edgeDefaults.runHosts
  }),
  proxyKeys: setting({
    name: "CORRAL_EDGE_PROXY_KEYS",
    doc: 'Adapters whose [confined](confinement.md#keys-outside-of-the-run) runs have placeholders instead of the keys of model services, JSON: `[{"adapter": "claude-code", "setting": "required", "addresses": {"ANTHROPIC_API_KEY": ["https://models.example.com"]}}]`. `setting` and `addresses` are optional.',
    schema: json(
      KeyEntries,
      'a JSON array of {adapter, setting?, addresses?} with different adapters, each setting "required" or "preferred", and lists of http or https addresses by variable'
    ),
    default: edgeDefaults.proxyKeys
  }),
  maxRuns: setting({
    name: "CORRAL_EDGE_MAX_RUNS",
    doc: "Maximum number of live runs. Further runs are queued.",
    schema: wholeNumber(1, 100_000),
    default: maxRuns
  }),
  maxQueued: setting({
    name: "CORRAL_EDGE_MAX_QUEUED",
    doc: "Maximum number of queued runs. Further runs are refused as `overloaded`.",
    schema: wholeNumber(0, 100_000),
    default: maxQueued
  }),
  requestsPerSecond: setting({
    name: "CORRAL_EDGE_REQUESTS_PER_SECOND",
    doc: "Requests per second with the local token, and of all other clients together. Further requests are refused as `rate_limited`.",
    schema: wholeNumber(1, 1_000_000),
    default: requestsPerSecond
  }),
  retention: {
    days: setting({
      name: "CORRAL_EDGE_RETENTION_DAYS",
      doc: "Days after which the events of an ended run are deleted; 0 keeps them forever.",
      schema: wholeNumber(0, 36_500),
      default: retention.days
    }),
    maxMiB: setting({
      name: "CORRAL_EDGE_RETENTION_MAX_MB",
      doc: "Size of the store, in MiB, above which the oldest ended runs lose their events earlier; 0 sets no limit.",
      schema: wholeNumber(0, 16_777_216),
      default: retention.maxMiB
    })
  },
  cacheMaxMiB: setting({
    name: "CORRAL_EDGE_CACHE_MAX_MB",
    doc: "Size of the [caches](confinement.md#caches) of confined runs, in MiB, above which those of the workspaces that were not used for the longest time are removed; 0 sets no limit.",
    schema: wholeNumber(0, 16_777_216),
    default: edgeDefaults.cacheMaxMiB
  }),
  rawOutput: setting({
    name: "CORRAL_EDGE_RAW_OUTPUT",
    doc: "`keep`: what the programs of runs print is kept on this machine without secrets, for [reports about adapters](write-an-adapter.md#4-report-a-drift), at most 8 MiB per run and 256 MiB in total.",
    schema: oneOf(["off", "keep"]),
    default: edgeDefaults.rawOutput
  }),
  streamTimes: {
    pingEveryMs: setting({
      name: "CORRAL_EDGE_STREAM_PING_MS",
      doc: "Time between pings of an event stream, in milliseconds, at most 20000. Set it below the idle timeout of a proxy in front of the Edge.",
      // Clients reconnect after a longer silence.
      schema: wholeNumber(1_000, defaultStreamTimes.pingEveryMs),
      default: defaultStreamTimes.pingEveryMs
    }),
    stalledAfterMs: setting({
      name: "CORRAL_EDGE_STREAM_STALL_MS",
      doc: "Time after which an event stream is closed when its reader takes nothing, in milliseconds.",
      schema: wholeNumber(1_000, 3_600_000),
      default: defaultStreamTimes.stalledAfterMs
    })
  },
  telemetry: telemetrySettings
}

/** Rejects grants that would allow too much. */
const checkGrants = (workspaces: ReadonlyArray<WorkspaceEntry>) => {
  const problem = unusableGrant(workspaces)
  return problem === undefined ? Effect.void : invalidSetting("CORRAL_EDGE_WORKSPACES", problem)
}

const edgeConfig = Config.all({
  ...edgeSettings,
  times: Config.all(edgeSettings.times),
  retention: Config.all(edgeSettings.retention),
  streamTimes: Config.all(edgeSettings.streamTimes),
  telemetry: telemetryConfig
}).pipe(
  Config.mapEffect((settings) => Effect.as(checkGrants(settings.workspaces), settings)),
  Config.map(({ configFile, home, tokenFile, ...settings }) => ({
    ...settings,
    home,
    tokenFile: tokenFile ?? join(home, "edge.token"),
    configFile: configFile ?? join(home, "edge.config.json"),
    deviceFile: join(home, "device.json"),
    times: { ...times, ...settings.times }
  }))
)

/** Reads the configuration of an Edge from an environment. */
export const readEdgeConfig = (environment: Environment) =>
  Effect.map(readSettings(environment, edgeConfig), (config): EdgeConfig => ({
    ...config,
    environment: Object.fromEntries(
      Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined)
    )
  }))
