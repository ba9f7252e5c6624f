/**
 * Schema of `edge.config.json`: profiles over adapters, runners over the generic ones, agents of the Agent Client Protocol, and external adapters. Published as `schemas/edge-config.json`.
 *
 * `AcpAgent` documents the fields of an agent of the Agent Client Protocol. `Offers` checks everything beyond the shape of the file: an adapter exists, an id is free.
 */
import type { AcpAgent } from "@corral/adapters/acp/AcpAgent"
import { PROMPT } from "@corral/adapters/CommandLine"
import { GrantRule } from "@corral/domain/approval/Grant"
import { AgentId } from "@corral/domain/identity/Ids"
import { RunMode } from "@corral/domain/run/Run"
import { capped } from "@corral/domain/text/CappedPattern"
import { Schema } from "effect"
import { isAbsolute } from "node:path"
import { unusableReason } from "../approval/GrantRules.ts"
import { EnvName } from "../config/EdgeConfig.ts"

// Schema of a program in a configuration.

/** A name that is looked up on PATH, or an absolute path. */
const Program = Schema.String.check(
  Schema.makeFilter((text) => isAbsolute(text) || /^[^/\0]+$/.test(text), {
    expected: "the name of a program, or an absolute path"
  })
)

const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1_000))
const optionalText = Schema.optionalKey(Text)
const optionalFlag = Schema.optionalKey(Schema.Boolean)
const Variables = Schema.Record(EnvName, Schema.String)
const optionalByMode = <A extends Schema.Top>(schema: A) =>
  Schema.optionalKey(Schema.Struct({ ask: Schema.optionalKey(schema), readOnly: Schema.optionalKey(schema) }))

/** Maximum length of a text for a configured pattern, because a pattern may backtrack for a long time. */
const MAX_CHARACTERS = 8_000

const isPattern = (text: string): boolean => {
  try {
    return capped(MAX_CHARACTERS, new RegExp(text, "m")).source !== ""
  } catch {
    return false
  }
}
/** A regular expression with the flag `m`. */
const Pattern = Text.check(Schema.makeFilter(isPattern, { expected: "a regular expression" }))
const optionalPattern = Schema.optionalKey(Pattern)

const AcpEntry = Schema.Struct({
  /** The agent's id is `acp:` followed by this. */
  name: Schema.String.check(
    Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
      expected: "a name of letters, digits and . _ -, at most 100 of them"
    })
  ),
  label: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100))),
  command: Program,
  args: Schema.optionalKey(Schema.Array(Schema.String)),
  install: optionalText,
  signIn: optionalText,
  /** Names of the Edge's variables that the agent receives. */
  env: Schema.optionalKey(Schema.Array(EnvName)),
  /** Variables that the agent receives, in every mode and per mode. */
  variables: Schema.optionalKey(Variables),
  variablesByMode: optionalByMode(Variables),
  /** Ids of the agent's own modes: one asks before it acts, one is read-only. */
  modes: optionalByMode(Text),
  /** The agent's start mode asks before it acts. Without this or `modes.ask` the agent runs only in `full_access`. */
  asks: optionalFlag,
  modeUnknown: optionalFlag,
  forgetsSessions: optionalFlag,
  images: Schema.optionalKey(Schema.Literals(["native", "path"])),
  toolName: Schema.optionalKey(Schema.Literals(["title", "callId"])),
  titleIsCommand: optionalFlag,
  inputInContent: optionalFlag,
  notes: Schema.optionalKey(Schema.Array(Text)),
  ownMethods: Schema.optionalKey(Schema.Array(Text)),
  ownUpdates: Schema.optionalKey(Schema.Array(Text)),
  clientMeta: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  continuesAfterWork: optionalFlag,
  planApproval: optionalText,
  statusKey: optionalText,
  namesMessages: optionalFlag,
  countsTokens: optionalFlag,
  countsSession: optionalFlag,
  countsModels: optionalFlag,
  countsLastCall: optionalFlag,
  reportsCost: optionalFlag,
  hasSubscription: optionalFlag,
  failsSilently: optionalFlag,
  asides: optionalPattern,
  retriesInWords: optionalPattern,
  cancelsInWords: optionalPattern,
  startsInBackground: optionalPattern,
  failsInWords: optionalPattern,
  failsInWordsWithoutTokens: optionalPattern
})
type AcpEntry = typeof AcpEntry.Type

const compiled = (pattern: string | undefined): RegExp | undefined =>
  pattern === undefined ? undefined : capped(MAX_CHARACTERS, new RegExp(pattern, "m"))

/** The agent that an entry describes. */
export const acpAgentOf = (entry: AcpEntry): AcpAgent => {
  const { args = [], asks, command, env = [], name, variables, variablesByMode, ...differences } = entry
  return {
    ...differences,
    id: `acp:${name}`,
    label: entry.label ?? name,
    command,
    args,
    install: entry.install ?? `Install ${command}, or correct its path in the configuration.`,
    signIn: entry.signIn ?? `Run ${command} by hand and sign in.`,
    passEnv: env,
    env: variables,
    envByMode: variablesByMode,
    actsUnasked: !(asks ?? entry.modes?.ask !== undefined),
    asides: compiled(entry.asides),
    retriesInWords: compiled(entry.retriesInWords),
    cancelsInWords: compiled(entry.cancelsInWords),
    startsInBackground: compiled(entry.startsInBackground),
    failsInWords: compiled(entry.failsInWords),
    failsInWordsWithoutTokens: compiled(entry.failsInWordsWithoutTokens)
  }
}

// Schema of the map of a runner that prints JSON lines, in `edge.config.json`. `JsonMap` documents its parts.

/** `data.item.text`: names of fields, from the outermost inwards. A number is an index of a list. */
const FieldPath = Schema.String.check(
  Schema.isMaxLength(200),
  Schema.isPattern(/^[^.\s]+(\.[^.\s]+)*$/, { expected: "names of fields with dots between them" })
)
const optionalPath = Schema.optionalKey(FieldPath)

/** Values of the type field. */
const when = Schema.NonEmptyArray(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)))

const meaning = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.optionalKey(Schema.Struct({ when, ...fields }))

const JsonMapEntry = Schema.Struct({
  /** The field with the type of a line. For several fields, their values are joined with `/`. */
  type: Schema.Union([FieldPath, Schema.NonEmptyArray(FieldPath)]),
  /** A part of a message. The message ends with the next line of another meaning. */
  delta: meaning({ text: FieldPath }),
  /** A part of the model's thinking. */
  reasoning: meaning({ text: FieldPath }),
  /** A whole message. After parts with the same text, it ends them. */
  message: meaning({ text: FieldPath }),
  toolCall: meaning({ id: FieldPath, name: FieldPath, input: optionalPath }),
  /** `failed`: the call failed if this field has a value other than false or empty, or one of the values of `failedWhen`. */
  toolResult: meaning({
    id: FieldPath,
    output: optionalPath,
    exitCode: optionalPath,
    failed: optionalPath,
    failedWhen: Schema.optionalKey(Schema.NonEmptyArray(Schema.String))
  }),
  /** `change`: field with `created`, `modified` or `deleted`; `modified` by default. `patch`: field with a unified diff of the file. */
  fileChange: meaning({ path: FieldPath, change: optionalPath, patch: optionalPath }),
  /** Usage of the run so far. */
  usage: meaning({ inputTokens: optionalPath, outputTokens: optionalPath, costUsd: optionalPath }),
  /** Success of the run. Without such a type, exit code 0 is success. */
  completed: meaning({ text: optionalPath }),
  failed: meaning({ message: optionalPath }),
  /** Types that are ignored and not counted as unknown. */
  ignore: Schema.optionalKey(Schema.Array(Schema.String))
})

const Id = AgentId.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, {
    expected: "an id of letters, digits and . _ : -, at most 128 of them"
  })
)
const Label = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100))

/** A rule that can never cover anything is an error, because its author expects that it does. */
const UsableRule = GrantRule.check(
  Schema.makeFilter((rule) => {
    const expected = unusableReason(rule)
    return expected === undefined ? true : `Expected ${expected}`
  })
)

/**
 * Grants of a profile in addition to its workspace's: rules for its own runs, and `full_access`, which raises the profile's limit, not the
 * workspace's.
 */
export const ProfileGrant = Schema.Union([Schema.Literal("full_access"), UsableRule])
export type ProfileGrant = typeof ProfileGrant.Type

/** A separate agent over an adapter. */
export const Profile = Schema.Struct({
  id: Id,
  label: Label,
  /** Id of an adapter. */
  adapter: Schema.String,
  /** Program that replaces the adapter's. */
  program: Schema.optionalKey(Program),
  /** The widest mode of its runs; by default `auto_edit`, or `full_access` if that is granted. */
  mode: Schema.optionalKey(RunMode),
  /** Default for runs that name none. */
  model: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256))),
  grants: Schema.optionalKey(Schema.Array(ProfileGrant)),
  /** Names of the Edge's variables that its runs receive in addition to those of the adapter. */
  env: Schema.optionalKey(Schema.Array(EnvName))
})
export type Profile = typeof Profile.Type

/** A command line as an agent. */
export const RunnerEntry = Schema.Struct({
  id: Id,
  label: Label,
  /** The generic adapter that reads its output. */
  runtime: Schema.Literals(["text", "json-lines"]),
  /** Meaning of its lines. */
  map: Schema.optionalKey(JsonMapEntry),
  /** Program and arguments; `{prompt}` in an argument becomes the prompt. */
  command: Schema.NonEmptyArray(Schema.String),
  /** `prompt`: the prompt is written to stdin, which is then closed. The default is `none`. */
  stdin: Schema.optionalKey(Schema.Literals(["prompt", "none"])),
  /** Names of the Edge's variables that it receives. */
  env: Schema.optionalKey(Schema.Array(EnvName))
}).check(
  Schema.makeFilter(({ command: [program] }) => Schema.is(Program)(program), {
    expected: "a command that starts with the name of a program, or its absolute path"
  }),
  Schema.makeFilter(
    ({ command, stdin }) => stdin === "prompt" || command.slice(1).some((arg) => arg.includes(PROMPT)),
    { expected: `a place for the prompt: ${PROMPT} in an argument, or stdin "prompt"` }
  ),
  Schema.makeFilter(({ runtime, map }) => (runtime === "json-lines") === (map !== undefined), {
    expected: 'a map with the runtime "json-lines", and with no other'
  })
)
export type RunnerEntry = typeof RunnerEntry.Type

export const EdgeConfigFile = Schema.Struct({
  /** For editors. */
  $schema: Schema.optionalKey(Schema.String),
  profiles: Schema.optionalKey(Schema.Array(Profile)),
  runners: Schema.optionalKey(Schema.Array(RunnerEntry)),
  /** Agents behind the Agent Client Protocol: one, or a list. */
  acp: Schema.optionalKey(Schema.Union([AcpEntry, Schema.Array(AcpEntry)])),
  /** External adapters: names of packages, or paths relative to the folder of this file. Loaded at start. */
  adapters: Schema.optionalKey(
    Schema.Array(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1_000)))
  ),
  /** Whether the device's owner may set presets of any kind from the Hub: command lines, variables and grants too. */
  remotePresets: optionalFlag
})
export type EdgeConfigFile = typeof EdgeConfigFile.Type
