/**
 * The Edge's settings as environment variables: one table that is both read and documented. A value that does not fit stops the start
 * with one sentence that names its variable.
 */
import { EnvName } from "./config/EnvName.ts"
import { Effect, Schema } from "effect"
import { GrantRule } from "@corral/domain/approval/Grant"
import { WorkspaceName } from "@corral/domain/identity/Ids"
import {
  type Environment,
  valueOr,
  settingReader,
  type Setting,
  SettingInvalid,
  wholeNumber
} from "@corral/service/Settings"
import { checkVariables } from "@corral/service/UnknownVariables"
import { telemetryFrom, telemetrySettings } from "@corral/service/telemetry/TelemetrySettings"
import { defaultStreamTimes } from "@corral/service/stream/StreamTimes"
import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"
import { unusable } from "./approval/GrantRules.ts"
import { defaults, type EdgeConfig } from "./config/EdgeConfig.ts"
import { hubUrlOf } from "./config/HubAddress.ts"

export const settings = [
  { name: "CORRAL_HOME", what: "Folder of Corral's own files.", fallback: "~/.corral" },
  {
    name: "CORRAL_EDGE_HOST",
    what: "Loopback address to listen on: `127.0.0.1`, `::1` or `localhost`.",
    fallback: "127.0.0.1"
  },
  { name: "CORRAL_EDGE_PORT", what: "Port to listen on; 0 takes any free one.", fallback: "0" },
  {
    name: "CORRAL_EDGE_TOKEN_FILE",
    what: "File of the local token, mode 0600; made when missing.",
    fallback: "$CORRAL_HOME/edge.token"
  },
  {
    name: "CORRAL_EDGE_HUB_URL",
    what: "Address of the Hub that this Edge has joined, or several of the same Hub with commas between them, tried in turn. `https`, or `http` on this machine.",
    fallback: "the Hub that was joined"
  },
  {
    name: "CORRAL_EDGE_CONFIG_FILE",
    what: "JSON file of profiles and runners, read again when it changes; it may be missing.",
    fallback: "$CORRAL_HOME/edge.config.json"
  },
  {
    name: "CORRAL_EDGE_WORKSPACES",
    what: 'Allowlisted folders, JSON: `[{"id": "api", "path": "/absolute/path", "grants": ["full_access"]}]`. `grants` is optional: `full_access`, `project_settings`, and rules that [security](security.md#grants) describes.',
    fallback: "[]"
  },
  {
    name: "CORRAL_EDGE_ALLOWED_ORIGINS",
    what: "Origins of desktop shells that may reach the Edge, JSON array. Browsers never do.",
    fallback: "[]"
  },
  {
    name: "CORRAL_EDGE_ALLOWED_ENV",
    what: "Names of environment variables that a run may set, JSON array.",
    fallback: "[]"
  },
  {
    name: "CORRAL_EDGE_RUN_TIMEOUT_MS",
    what: "Active time of a run that names none, in milliseconds.",
    fallback: "1800000"
  },
  {
    name: "CORRAL_EDGE_RUN_CAP_MS",
    what: "How long a run may live at most, waiting for people included, in milliseconds.",
    fallback: "86400000"
  },
  {
    name: "CORRAL_EDGE_CANCEL_GRACE_MS",
    what: "Time from a cancel to SIGKILL, in milliseconds.",
    fallback: "3000"
  },
  {
    name: "CORRAL_EDGE_APPROVAL_TTL_MS",
    what: "How long an approval waits before it expires as denied, in milliseconds.",
    fallback: "1800000"
  },
  {
    name: "CORRAL_EDGE_FIRST_EVENT_MS",
    what: "How long a runtime may say nothing after its start, in milliseconds.",
    fallback: "120000"
  },
  {
    name: "CORRAL_EDGE_SILENCE_MS",
    what: "How long a runtime may say nothing more while nobody is asked, in milliseconds.",
    fallback: "1800000"
  },
  {
    name: "CORRAL_EDGE_SILENCE_NOTICE_MS",
    what: "After how much silence a run reports it as `runtime.retrying`, in milliseconds; again after twice as long, and so on. Not while a person is asked or a tool runs.",
    fallback: "30000"
  },
  {
    name: "CORRAL_EDGE_CONTAINMENT",
    what: "How a run's processes are held together: `auto` takes a control group for each run where the system lets it, `environment_mark` never.",
    fallback: "auto"
  },
  {
    name: "CORRAL_EDGE_MAX_RUNS",
    what: "Live runs at once; more wait for their turn.",
    fallback: "1000"
  },
  {
    name: "CORRAL_EDGE_MAX_QUEUED",
    what: "Runs that wait for their turn at once; one more is refused as `overloaded`.",
    fallback: "1000"
  },
  {
    name: "CORRAL_EDGE_REQUESTS_PER_SECOND",
    what: "Requests that the token's holder may send in a second, and all others together; one more is refused as `rate_limited`.",
    fallback: "5000"
  },
  {
    name: "CORRAL_EDGE_RETENTION_DAYS",
    what: "How long the events of an ended run are kept; 0 keeps them for ever.",
    fallback: "30"
  },
  {
    name: "CORRAL_EDGE_RETENTION_MAX_MB",
    what: "Size of the store, in MiB, beyond which the oldest ended runs lose their events earlier; 0 sets no limit.",
    fallback: "2048"
  },
  {
    name: "CORRAL_EDGE_STREAM_PING_MS",
    what: "Time between pings of an event stream, in milliseconds, at most 20000. Set it below the idle timeout of a proxy in front of the Edge.",
    fallback: "20000"
  },
  {
    name: "CORRAL_EDGE_STREAM_STALL_MS",
    what: "Time after which an event stream is closed when its reader takes nothing, in milliseconds.",
    fallback: "30000"
  },
  ...telemetrySettings
] as const satisfies ReadonlyArray<Setting>

type Name = (typeof settings)[number]["name"]

const Workspaces = Schema.Array(
  Schema.Struct({
    id: WorkspaceName,
    path: Schema.String.check(Schema.makeFilter((path) => isAbsolute(path) || "Expected an absolute path")),
    grants: Schema.optionalKey(
      Schema.Array(Schema.Union([Schema.Literals(["full_access", "project_settings"]), GrantRule]))
    )
  })
).check(
  Schema.makeFilter(
    (entries) => new Set(entries.map(({ id }) => id)).size === entries.length || "Expected different ids"
  )
)
const Origins = Schema.Array(Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/)))

const Names = Schema.Array(EnvName)
const upToADay = wholeNumber(1_000, 86_400_000)

/** Addresses between commas. */
const hubsIn = (text: string): ReadonlyArray<ReturnType<typeof hubUrlOf>> =>
  text.split(",").map((each) => hubUrlOf(each.trim()))
const Hubs = Schema.String.check(
  Schema.makeFilter((text) => hubsIn(text).every((each) => "url" in each) || "Expected addresses of a Hub")
)

const containments = ["auto", "environment_mark"] as const
const hosts = ["127.0.0.1", "::1", "localhost"] as const

/** Reads the settings from an environment. */
export const fromEnvironment = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<EdgeConfig, SettingInvalid> {
  yield* checkVariables(env)
  const read = settingReader<Name>(env)
  const workspaces = yield* read(
    "CORRAL_EDGE_WORKSPACES",
    Schema.fromJsonString(Workspaces),
    defaults.workspaces,
    'a JSON array of {id, path, grants?} with absolute paths and different ids, each grant "full_access", "project_settings" or a rule'
  )
  for (const grant of workspaces.flatMap(({ grants = [] }) => grants)) {
    const expected = typeof grant === "string" ? undefined : unusable(grant)
    if (expected !== undefined) {
      const message = `CORRAL_EDGE_WORKSPACES is not usable: expected ${expected}.`
      return yield* new SettingInvalid({ message })
    }
  }
  const hubs = yield* read(
    "CORRAL_EDGE_HUB_URL",
    Hubs,
    undefined,
    "an address such as https://corral.example, or several with commas between them; http on this machine alone, and no sign-in or query in it"
  )
  const home = resolve(valueOr(env.CORRAL_HOME, join(homedir(), ".corral")))
  const { retention, times } = defaults
  return {
    home,
    host: yield* read(
      "CORRAL_EDGE_HOST",
      Schema.Literals(hosts),
      defaults.host,
      `a loopback address (${hosts.join(", ")})`
    ),
    port: yield* read("CORRAL_EDGE_PORT", wholeNumber(0, 65_535), defaults.port, "a port from 0 to 65535"),
    tokenFile: resolve(valueOr(env.CORRAL_EDGE_TOKEN_FILE, join(home, "edge.token"))),
    configFile: resolve(valueOr(env.CORRAL_EDGE_CONFIG_FILE, join(home, "edge.config.json"))),
    deviceFile: join(home, "device.json"),
    hubAddresses:
      hubs === undefined ? undefined : hubsIn(hubs).flatMap((each) => ("url" in each ? [each.url] : [])),
    workspaces,
    allowedOrigins: yield* read(
      "CORRAL_EDGE_ALLOWED_ORIGINS",
      Schema.fromJsonString(Origins),
      defaults.allowedOrigins,
      "a JSON array of origins such as app://corral"
    ),
    allowedEnv: yield* read(
      "CORRAL_EDGE_ALLOWED_ENV",
      Schema.fromJsonString(Names),
      defaults.allowedEnv,
      "a JSON array of variable names, none of them Corral's own or the loader's"
    ),
    runTimeoutMs: yield* read(
      "CORRAL_EDGE_RUN_TIMEOUT_MS",
      upToADay,
      defaults.runTimeoutMs,
      "1000 to 86400000"
    ),
    times: {
      ...times,
      cap: yield* read("CORRAL_EDGE_RUN_CAP_MS", upToADay, times.cap, "1000 to 86400000"),
      cancel: yield* read(
        "CORRAL_EDGE_CANCEL_GRACE_MS",
        wholeNumber(50, 60_000),
        times.cancel,
        "50 to 60000"
      ),
      approval: yield* read("CORRAL_EDGE_APPROVAL_TTL_MS", upToADay, times.approval, "1000 to 86400000"),
      firstEvent: yield* read("CORRAL_EDGE_FIRST_EVENT_MS", upToADay, times.firstEvent, "1000 to 86400000"),
      silence: yield* read("CORRAL_EDGE_SILENCE_MS", upToADay, times.silence, "1000 to 86400000"),
      silenceNotice: yield* read(
        "CORRAL_EDGE_SILENCE_NOTICE_MS",
        wholeNumber(100, 86_400_000),
        times.silenceNotice,
        "100 to 86400000"
      )
    },
    containment: yield* read(
      "CORRAL_EDGE_CONTAINMENT",
      Schema.Literals(containments),
      defaults.containment,
      containments.join(" or ")
    ),
    maxRuns: yield* read("CORRAL_EDGE_MAX_RUNS", wholeNumber(1, 100_000), defaults.maxRuns, "1 to 100000"),
    maxQueued: yield* read(
      "CORRAL_EDGE_MAX_QUEUED",
      wholeNumber(0, 100_000),
      defaults.maxQueued,
      "0 to 100000"
    ),
    requestsPerSecond: yield* read(
      "CORRAL_EDGE_REQUESTS_PER_SECOND",
      wholeNumber(1, 1_000_000),
      defaults.requestsPerSecond,
      "1 to 1000000"
    ),
    retention: {
      days: yield* read("CORRAL_EDGE_RETENTION_DAYS", wholeNumber(0, 36_500), retention.days, "0 to 36500"),
      maxMiB: yield* read(
        "CORRAL_EDGE_RETENTION_MAX_MB",
        wholeNumber(0, 16_777_216),
        retention.maxMiB,
        "0 to 16777216"
      )
    },
    streamTimes: {
      pingEveryMs: yield* read(
        "CORRAL_EDGE_STREAM_PING_MS",
        // Clients reconnect after a longer silence.
        wholeNumber(1_000, defaultStreamTimes.pingEveryMs),
        defaultStreamTimes.pingEveryMs,
        "1000 to 20000"
      ),
      stalledAfterMs: yield* read(
        "CORRAL_EDGE_STREAM_STALL_MS",
        wholeNumber(1_000, 3_600_000),
        defaultStreamTimes.stalledAfterMs,
        "1000 to 3600000"
      )
    },
    telemetry: yield* telemetryFrom(env),
    environment: Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
    )
  }
})
