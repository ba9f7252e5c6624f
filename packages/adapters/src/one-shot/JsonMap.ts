/**
 * Map of a program's JSON lines: which field holds the type of a line, what each type means, and where text, ids and paths are.
 *
 * A line may mean more than one thing. Lines of other types are counted as unknown and mean nothing.
 */

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
