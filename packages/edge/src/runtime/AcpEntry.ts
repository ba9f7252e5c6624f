/**
 * Schema of an agent behind the Agent Client Protocol in `edge.config.json`: the data fields of the table for the built-in agents.
 * `AcpAgent` documents the fields.
 */
import type { AcpAgent } from "@corral/adapters/acp/AcpAgent"
import { capped } from "@corral/domain/text/CappedPattern"
import { Schema } from "effect"
import { EnvName } from "../config/EnvName.ts"
import { isAbsolute } from "node:path"

// Schema of a program in a configuration.

/** A name that is looked up on PATH, or an absolute path. */
export const Program = Schema.String.check(
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

export const AcpEntry = Schema.Struct({
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
  failsSilently: optionalFlag,
  asides: optionalPattern,
  retriesInWords: optionalPattern,
  cancelsInWords: optionalPattern,
  startsInBackground: optionalPattern,
  failsInWords: optionalPattern,
  failsInWordsWithoutTokens: optionalPattern
})
export type AcpEntry = typeof AcpEntry.Type

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
