/**
 * Check of a configuration that a program wrote: the bounds that `readEdgeConfig` sets for variables.
 *
 * Guarantees: the Edge starts with a loopback address and absolute paths only. The error names the field, never its value.
 */
import { oneOf } from "@corral/service/settings/Setting"
import { Data, Effect, Layer, Schema } from "effect"
import { isAbsolute } from "node:path"
import { unusableGrant } from "./approval/GrantRules.ts"
import { EdgeConfig, EnvName, hubUrlOf, KeyEntries } from "./config/EdgeConfig.ts"
import { WorkspaceEntries } from "./config/WorkspaceEntries.ts"
import { hostEntryOf } from "./network/HostEntry.ts"

/** The configuration cannot be used. */
export class EdgeConfigInvalid extends Data.TaggedError("EdgeConfigInvalid")<{ readonly message: string }> {}

export const edgeHosts = ["127.0.0.1", "::1", "localhost"] as const

const textFor = (expected: string, isValid: (text: string) => boolean) =>
  Schema.String.check(Schema.makeFilter(isValid)).annotate({ expected })

const AbsolutePath = textFor("an absolute path", isAbsolute)

const integer = (minimum: number, maximum: number, expected: string) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ expected })

const Count = integer(0, Number.MAX_SAFE_INTEGER, "a whole number from 0")
const Positive = integer(1, Number.MAX_SAFE_INTEGER, "a whole number from 1")

const HubAddress = textFor(
  "addresses of a Hub such as https://corral.example",
  (text) => "url" in hubUrlOf(text)
)

const RunHost = textFor(
  "hosts such as registry.npmjs.org or 127.0.0.1:11434",
  (text) => hostEntryOf(text) !== undefined
)

/** Schemas of the fields. `expected` ends the sentence of an error. */
const fields = {
  home: AbsolutePath,
  tokenFile: AbsolutePath,
  configFile: Schema.UndefinedOr(AbsolutePath).annotate({ expected: "an absolute path" }),
  deviceFile: Schema.UndefinedOr(AbsolutePath).annotate({ expected: "an absolute path" }),
  pricesFile: Schema.UndefinedOr(AbsolutePath).annotate({ expected: "an absolute path" }),
  editorFolder: Schema.UndefinedOr(AbsolutePath).annotate({ expected: "an absolute path" }),
  host: oneOf(edgeHosts, `a loopback address (${edgeHosts.join(", ")})`),
  port: integer(0, 65_535, "a port from 0 to 65535"),
  workspaces: WorkspaceEntries.annotate({ expected: "ids and absolute paths, with different ids" }),
  allowedEnv: Schema.Array(EnvName).annotate({
    expected: "names of variables, none of them Corral's own or the loader's"
  }),
  runHosts: Schema.Array(RunHost).annotate({
    expected: "hosts such as registry.npmjs.org or 127.0.0.1:11434"
  }),
  proxyKeys: KeyEntries.annotate({ expected: "different adapters, with addresses of http or https" }),
  hubAddresses: Schema.UndefinedOr(Schema.Array(HubAddress)).annotate({
    expected: "addresses of a Hub such as https://corral.example"
  }),
  runTimeoutMs: Positive,
  maxRuns: Positive,
  maxQueued: Count,
  requestsPerSecond: Positive
} as const satisfies Partial<Record<keyof EdgeConfig, Schema.Constraint>>

const sentenceFor = (field: string, expected: string): string =>
  `EdgeConfig.${field} is not usable: expected ${expected}.`

/** A sentence about the first field that cannot be used. */
export const problemOfEdgeConfig = (config: EdgeConfig): string | undefined => {
  for (const [field, schema] of Object.entries(fields)) {
    const { expected = "another value" } = Schema.resolveAnnotations(schema) ?? {}
    if (!Schema.is(schema)(config[field as keyof typeof fields])) return sentenceFor(field, expected)
  }
  const grant = unusableGrant(config.workspaces)
  return grant === undefined ? undefined : sentenceFor("workspaces", grant)
}

export const edgeConfigCheckLayer = Layer.effectDiscard(
  Effect.flatMap(EdgeConfig, (config) => {
    const message = problemOfEdgeConfig(config)
    return message === undefined ? Effect.void : Effect.fail(new EdgeConfigInvalid({ message }))
  })
)
