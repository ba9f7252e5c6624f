/**
 * Generic adapter for any program that prints JSON lines. A `JsonMap` describes the lines.
 *
 * Does not: ask for approvals. The Edge runs it in `full_access` only, like the text adapter.
 */
import type { CountedLimit } from "@corral/domain/run/Budget"
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { commandLineAdapter, type CommandLine } from "./CommandLine.ts"
import { compileMeanings, type JsonMap, MappedLines } from "./one-shot/MappedLines.ts"
import { OneShotProtocol } from "./one-shot/OneShot.ts"

export interface JsonLinesOptions extends CommandLine {
  /** Meaning of the program's lines. */
  readonly map: JsonMap
}

const countsOf = ({ usage }: JsonMap): ReadonlyArray<CountedLimit> => [
  ...(usage?.inputTokens !== undefined || usage?.outputTokens !== undefined ? (["tokens"] as const) : []),
  ...(usage?.costUsd !== undefined ? (["cost"] as const) : [])
]

/** Generic adapter for a command line whose output a map describes. */
export const makeJsonLines = ({ map, ...options }: JsonLinesOptions): RuntimeAdapter => {
  const program = { label: options.label, signIn: "" }
  const meanings = compileMeanings(map, options.label)
  return {
    ...commandLineAdapter("json-lines", options),
    counts: countsOf(map),
    protocol: (start) =>
      new OneShotProtocol(
        program,
        (collector) => new MappedLines(options.label, meanings, collector, start),
        options.stdin === "prompt" ? start.prompt : ""
      )
  }
}
