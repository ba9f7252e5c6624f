/**
 * Map of a program's JSON lines: the field with the type of a line, the meaning of each type, and the fields with text, ids and paths.
 *
 * A line may have more than one meaning. Lines of other types are counted as unknown and have none.
 */

/** Names of fields with dots between them, from the outermost: `data.item.text`. A number is an index of a list. */
export type FieldPath = string

/** Types of lines with this meaning. */
export interface When {
  readonly when: ReadonlyArray<string>
}

/** Meanings of a program's lines. Meanings that it never prints are left out. */
export interface JsonMap {
  /** Field with the type of a line. For several fields, the type is their values with `/` between them, without missing ones. */
  readonly type: FieldPath | ReadonlyArray<FieldPath>
  /** Piece of a message. The message ends at the next line with another meaning. */
  readonly delta?: (When & { readonly text: FieldPath }) | undefined
  /** Piece of the model's reasoning. */
  readonly reasoning?: (When & { readonly text: FieldPath }) | undefined
  /** Whole message. After pieces with the same text it completes them. */
  readonly message?: (When & { readonly text: FieldPath }) | undefined
  readonly toolCall?:
    | (When & { readonly id: FieldPath; readonly name: FieldPath; readonly input?: FieldPath | undefined })
    | undefined
  readonly toolResult?:
    | (When & {
        readonly id: FieldPath
        readonly output?: FieldPath | undefined
        readonly exitCode?: FieldPath | undefined
        /** The call failed if this field is neither false nor empty; with `failedWhen`, if it has one of these values. */
        readonly failed?: FieldPath | undefined
        /** Values of `failed` that mean a failure, as text: `error`, `1`. */
        readonly failedWhen?: ReadonlyArray<string> | undefined
      })
    | undefined
  readonly fileChange?:
    | (When & {
        readonly path: FieldPath
        /** `created`, `modified` or `deleted`; anything else counts as modified. */
        readonly change?: FieldPath | undefined
        /** Unified diff of the file. */
        readonly patch?: FieldPath | undefined
      })
    | undefined
  /** Usage so far. */
  readonly usage?:
    | (When & {
        readonly inputTokens?: FieldPath | undefined
        readonly outputTokens?: FieldPath | undefined
        readonly costUsd?: FieldPath | undefined
      })
    | undefined
  /** Success of the run. Without this entry, exit code 0 is a success. */
  readonly completed?: (When & { readonly text?: FieldPath | undefined }) | undefined
  readonly failed?: (When & { readonly message?: FieldPath | undefined }) | undefined
  /** Types without a meaning that are not counted as unknown. */
  readonly ignore?: ReadonlyArray<string> | undefined
}
