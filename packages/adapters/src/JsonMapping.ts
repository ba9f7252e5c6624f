/**
 * Any program that prints JSON lines, described by data: which field of a line is its type, which types mean what, and where text, ids and
 * paths stand. A line may mean more than one thing. Lines of a type that is not named are counted and mean nothing.
 *
 * As with text, the program asks nobody, so the Edge lets it run in `full_access` alone.
 */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { commandLineAdapter, type CommandLine } from "./CommandLine.ts"
import { MappedLines, meaningsOf } from "./one-shot/MappedLines.ts"
import { OneShotProtocol } from "./one-shot/OneShot.ts"

/** Names of fields with dots between them, from the line inwards: `data.item.text`. A number is a place in a list. */
export type FieldPath = string

/** The types of lines that mean it. */
export interface When {
  readonly when: ReadonlyArray<string>
}

/** What the lines of a program mean. What it never says is left out. */
export interface JsonMap {
  /** The field that says what a line is; of several fields, their values with `/` between them, without those that are missing. */
  readonly type: FieldPath | ReadonlyArray<FieldPath>
  /** A piece of a message; the message ends with the next line that means something else. */
  readonly delta?: (When & { readonly text: FieldPath }) | undefined
  /** A piece of what the model thinks. */
  readonly reasoning?: (When & { readonly text: FieldPath }) | undefined
  /** A whole message. After pieces that say the same it is their end. */
  readonly message?: (When & { readonly text: FieldPath }) | undefined
  readonly toolCall?:
    | (When & { readonly id: FieldPath; readonly name: FieldPath; readonly input?: FieldPath | undefined })
    | undefined
  readonly toolResult?:
    | (When & {
        readonly id: FieldPath
        readonly output?: FieldPath | undefined
        readonly exitCode?: FieldPath | undefined
        /** The call failed where this holds something that is neither false nor empty. */
        readonly failed?: FieldPath | undefined
      })
    | undefined
  readonly fileChange?:
    | (When & {
        readonly path: FieldPath
        /** `created`, `modified` or `deleted`; anything else counts as modified. */
        readonly change?: FieldPath | undefined
      })
    | undefined
  /** What the run has used so far. */
  readonly usage?:
    | (When & {
        readonly inputTokens?: FieldPath | undefined
        readonly outputTokens?: FieldPath | undefined
        readonly costUsd?: FieldPath | undefined
      })
    | undefined
  /** The run has succeeded. Where no type is named, exit code 0 says so. */
  readonly completed?: (When & { readonly text?: FieldPath | undefined }) | undefined
  readonly failed?: (When & { readonly message?: FieldPath | undefined }) | undefined
  /** Types that mean nothing, and are not counted as unknown. */
  readonly ignore?: ReadonlyArray<string> | undefined
}

export interface JsonLinesOptions extends CommandLine {
  readonly map: JsonMap
}

/** The generic adapter over one command line whose output is read by a map. */
export const makeJsonLines = ({ map, ...options }: JsonLinesOptions): RuntimeAdapter => {
  const words = { label: options.label, signIn: "" }
  const meanings = meaningsOf(map, options.label)
  return {
    ...commandLineAdapter("json-lines", options),
    protocol: (start) =>
      new OneShotProtocol(
        words,
        (turn) => new MappedLines(options.label, meanings, turn, start),
        options.stdin === "prompt" ? start.prompt : ""
      )
  }
}
